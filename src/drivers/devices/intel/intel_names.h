// Names of Intel's discrete GPUs: what a job asks for by the PCI id that the kernel gives. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace keiko {

/// A product as jobs and people call it.
struct IntelProduct {
  std::string kind;          ///< "max1550"; "intel-gpu" where we know no better
  std::string product;       ///< "Intel Data Center GPU Max 1550"; empty where we know none
  std::string architecture;  ///< "xe-hpc"; empty where we know none
  Bytes memory;              ///< as published; 0 where there are several sizes, or we know none

  bool known() const { return !product.empty(); }
};

/// RETURNS: the product of a PCI device id (vendor 0x8086). An integrated GPU is not known.
IntelProduct intel_product(int64_t device_id);

}  // namespace keiko
