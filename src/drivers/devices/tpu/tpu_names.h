// Names and memory of Google's TPU chips by the PCI ids that the kernel gives. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace keiko {

/// A generation of chips as jobs and people call it.
struct TpuProduct {
  std::string kind;     ///< "tpu-v5e"; "tpu" where we know no better
  std::string product;  ///< "Google TPU v5e"; empty where we know none
  std::string architecture;  ///< "v5e"; empty where we know none
  Bytes memory;              ///< of one chip, as published, since no file tells it; or 0

  bool known() const { return !product.empty(); }
};

/// RETURNS: the product of a PCI device id and subsystem device id (vendor 0x1ae0).
TpuProduct tpu_product(int64_t device_id, int64_t subsystem_id);

}  // namespace keiko
