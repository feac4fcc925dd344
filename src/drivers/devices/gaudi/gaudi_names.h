// Names and memory of Intel's Gaudi chips, by what their kernel driver and the bus say. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace keiko {

/// A chip as jobs and people call it.
struct GaudiProduct {
  std::string kind;     ///< "gaudi2"; "gaudi" where we know no better
  std::string product;  ///< "Intel Gaudi 2"; empty where we know none
  Bytes memory;         ///< as published, since no file tells it; 0 where we know none
};

/// RETURNS: the product by the driver's name for it ("GAUDI2") or, where it has none or one that
/// we do not know, by its PCI device id (vendor 0x1da3).
GaudiProduct gaudi_product(std::string_view device_type, int64_t device_id);

}  // namespace keiko
