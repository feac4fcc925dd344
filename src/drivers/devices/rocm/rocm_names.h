// Names of AMD's accelerators: what a job asks for by the ids that the kernel gives. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace keiko {

/// A product as jobs and people call it.
struct RocmProduct {
  std::string kind;          ///< "mi300x"; the processor's name, "gfx1100", where we know no better
  std::string product;       ///< "AMD Instinct MI300X"; empty where we know none
  std::string architecture;  ///< "cdna3"; empty where we know none
};

/// RETURNS: the product of a PCI device id (vendor 0x1002) and KFD's gfx_target_version.
RocmProduct product_of(int64_t device_id, int64_t gfx_target_version);

/// RETURNS: "gfx942" for 90402, "gfx90a" for 90010; empty for 0 and for nonsense.
std::string gfx_name(int64_t gfx_target_version);

}  // namespace keiko
