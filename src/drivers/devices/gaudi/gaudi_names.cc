#include "drivers/devices/gaudi/gaudi_names.h"

namespace keiko {
namespace {

struct ProductRow {
  const char* device_type;
  int64_t device_id;  ///< -1: it shares that of another type
  const char* kind;
  const char* product;
  int64_t gibibytes;
};

// Types and ids after the habanalabs kernel driver. HBM per chip after docs.habana.ai, "Gaudi
// Architecture": 32 GB, 96 GB and 128 GB in the three generations.
constexpr ProductRow kProducts[] = {
    {"GAUDI", 0x1000, "gaudi", "Habana Gaudi", 32},
    {"GAUDI SEC", 0x1010, "gaudi", "Habana Gaudi", 32},
    {"GAUDI2", 0x1020, "gaudi2", "Intel Gaudi 2", 96},
    {"GAUDI2 SEC", 0x1030, "gaudi2", "Intel Gaudi 2", 96},
    {"GAUDI2B", -1, "gaudi2", "Intel Gaudi 2", 96},
    {"GAUDI2C", -1, "gaudi2c", "Intel Gaudi 2C", 0},
    {"GAUDI2D", -1, "gaudi2d", "Intel Gaudi 2D", 0},
    {"GAUDI3", 0x1060, "gaudi3", "Intel Gaudi 3", 128},
    {"GAUDI3", 0x1063, "gaudi3", "Intel Gaudi 3", 128}};

}  // namespace

GaudiProduct gaudi_product(std::string_view device_type, int64_t device_id) {
  const auto product = [](const ProductRow& row) {
    return GaudiProduct{row.kind, row.product, gibibytes(row.gibibytes)};
  };
  for (const ProductRow& row : kProducts) {
    if (device_type == row.device_type) return product(row);
  }
  for (const ProductRow& row : kProducts) {
    if (row.device_id >= 0 && device_id == row.device_id) return product(row);
  }
  return {"gaudi", "", {}};
}

}  // namespace keiko
