// What NVIDIA's names and numbers are called in the model: kinds, architectures, MIG profiles,
// addresses. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drivers/devices/nvml/nvml_abi.h"

namespace keiko {

/// RETURNS: what a job asks for: "NVIDIA H100 80GB HBM3" is "h100", "NVIDIA GeForce RTX 4090" is
/// "rtx4090", "NVIDIA RTX 6000 Ada Generation" is "rtx6000ada"; "gpu" if nothing is left.
std::string kind_of_product(std::string_view product);

/// RETURNS: "ampere" for 7 and so on; empty for one that we do not know.
std::string architecture_name(uint32_t number);

/// RETURNS: "1g.10gb" of "NVIDIA A100-SXM4-80GB MIG 1g.10gb"; empty if the name has none.
std::string mig_profile_of_name(std::string_view product);

/// RETURNS: the profile by NVIDIA's rule: slices of compute, and memory in eighths of the GPU's.
std::string mig_profile_of(const NvmlAttributes& slice, int64_t gpu_bytes);

/// RETURNS: the name of the GPU that a slice's name begins with.
std::string_view without_mig_profile(std::string_view product);

/// RETURNS: "0000:3b:00.0", as sysfs spells it.
std::string pci_address(const NvmlPci& pci);

}  // namespace keiko
