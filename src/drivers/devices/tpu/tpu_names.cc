#include "drivers/devices/tpu/tpu_names.h"

namespace keiko {
namespace {

constexpr int64_t kAny = -1;

struct ProductRow {
  int64_t device_id;
  int64_t subsystem_id;
  const char* generation;
  int64_t gibibytes;
};

// Ids after the public tools jax and tpu-info. HBM of one chip after cloud.google.com/tpu/docs,
// the page of each generation.
constexpr ProductRow kProducts[] = {
    {0x0027, 0x004e, "v2", 8},  {0x0027, 0x004f, "v3", 16},   {0x005e, kAny, "v4", 32},
    {0x0062, kAny, "v5p", 95},  {0x0063, kAny, "v5e", 16},    {0x006f, kAny, "v6e", 32},
    {0x0076, kAny, "v7x", 192}};

}  // namespace

TpuProduct tpu_product(int64_t device_id, int64_t subsystem_id) {
  for (const ProductRow& row : kProducts) {
    if (row.device_id != device_id) continue;
    if (row.subsystem_id != kAny && row.subsystem_id != subsystem_id) continue;
    const std::string generation = row.generation;
    return {"tpu-" + generation, "Google TPU " + generation, generation,
            gibibytes(row.gibibytes)};
  }
  return {"tpu", "", "", {}};
}

}  // namespace keiko
