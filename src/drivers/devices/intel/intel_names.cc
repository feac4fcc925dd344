#include "drivers/devices/intel/intel_names.h"

namespace keiko {
namespace {

struct ProductRow {
  int64_t device_id;
  const char* kind;
  const char* product;
  const char* architecture;
  int64_t gibibytes;  ///< 0: sold with several sizes
};

// Device ids after the public PCI id list; the memory of one function after Intel's specifications
// (intel.com, "Memory Specifications" of each product).
constexpr ProductRow kProducts[] = {
    {0x0bd5, "max1550", "Intel Data Center GPU Max 1550", "xe-hpc", 128},
    {0x0bd6, "max1550", "Intel Data Center GPU Max 1550", "xe-hpc", 128},
    {0x0bd7, "max1350", "Intel Data Center GPU Max 1350", "xe-hpc", 96},
    {0x0bd8, "max1350", "Intel Data Center GPU Max 1350", "xe-hpc", 96},
    {0x0bd9, "max1100", "Intel Data Center GPU Max 1100", "xe-hpc", 48},
    {0x0bda, "max1100", "Intel Data Center GPU Max 1100", "xe-hpc", 48},
    {0x0bdb, "max1100", "Intel Data Center GPU Max 1100", "xe-hpc", 48},
    {0x56c0, "flex170", "Intel Data Center GPU Flex 170", "xe-hpg", 16},
    {0x56c1, "flex140", "Intel Data Center GPU Flex 140", "xe-hpg", 6},  // two GPUs on one board
    {0x56a0, "arc-a770", "Intel Arc A770", "xe-hpg", 0},
    {0x56a1, "arc-a750", "Intel Arc A750", "xe-hpg", 8},
    {0x56a2, "arc-a580", "Intel Arc A580", "xe-hpg", 8},
    {0x56a5, "arc-a380", "Intel Arc A380", "xe-hpg", 6},
    {0x56a6, "arc-a310", "Intel Arc A310", "xe-hpg", 4},
    {0xe20b, "arc-b580", "Intel Arc B580", "xe2-hpg", 12},
    {0xe20c, "arc-b570", "Intel Arc B570", "xe2-hpg", 10},
    {0xe211, "arc-pro-b60", "Intel Arc Pro B60", "xe2-hpg", 24},
    {0xe212, "arc-pro-b50", "Intel Arc Pro B50", "xe2-hpg", 16}};

}  // namespace

IntelProduct intel_product(int64_t device_id) {
  for (const ProductRow& row : kProducts) {
    if (row.device_id != device_id) continue;
    return {row.kind, row.product, row.architecture, gibibytes(row.gibibytes)};
  }
  return {"intel-gpu", "", "", {}};
}

}  // namespace keiko
