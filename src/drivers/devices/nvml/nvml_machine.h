// NvmlMachine: what the management library shows of this machine right now: GPUs, the parts of them
// that a worker can get, and the links between those. A plain value with handles in it; it is good
// as long as the library that made it stays open.
#pragma once

#include <string>
#include <vector>

#include "drivers/devices/nvml/nvml_library.h"
#include "model/device.h"

namespace keiko {

/// Where the kernel tells of GPUs; tests move the roots.
struct NvmlPlaces {
  std::string sys_root = "/sys";    ///< NUMA node and PCI path of an address
  std::string proc_root = "/proc";  ///< MIG capabilities; memory of machines that share it
};

/// One board.
struct NvmlGpu {
  NvmlDevice handle = nullptr;
  std::string uuid;
  std::string product;
  NvmlPci pci{};
  std::string address;     ///< "0000:3b:00.0"; empty if the library does not tell
  uint32_t minor = kNoInstance;
  int64_t bytes = 0;       ///< what workers can use
  bool split = false;      ///< into MIG slices: it cannot be used as a whole
};

/// A whole GPU or a slice of one.
struct NvmlUnit {
  NvmlDevice handle = nullptr;
  size_t gpu = 0;  ///< its place in NvmlMachine::gpus
  uint32_t gpu_instance = kNoInstance;
  uint32_t compute_instance = kNoInstance;
  Device device;

  bool is_slice() const { return gpu_instance != kNoInstance; }
};

struct NvmlMachine {
  std::vector<NvmlGpu> gpus;    ///< in PCI order
  std::vector<NvmlUnit> units;  ///< what is offered, in PCI order, slices by instance
  std::vector<std::string> silent;  ///< a sentence for each GPU that is counted but does not answer
};

/// RETURNS: what is there. An error only if the library tells nothing at all.
Result<NvmlMachine> find_machine(const NvmlLibrary& library, const NvmlPlaces& places);

/// RETURNS: links between all pairs of units, by index: NVLink where it connects two whole GPUs,
/// else the nearest common ancestor of their PCI addresses.
std::vector<Link> find_links(const NvmlLibrary& library, const NvmlMachine& machine,
                             const NvmlPlaces& places);

/// RETURNS: MB/s per direction of a PCIe link of `generation` with `lanes`; 0 for nonsense.
int64_t pcie_megabytes_per_s(uint32_t generation, uint32_t lanes);

/// RETURNS: the text that a function of the library writes, or empty.
template <class Function, class... A>
std::string nvml_text(const NvmlLibrary& library, Function NvmlSymbols::*function,
                      A... arguments) {
  char text[kNvmlTextSize + 1] = {};
  const NvmlReturn answer = library.call(function, arguments..., text, kNvmlTextSize);
  return answer == kNvmlSuccess ? text : std::string();
}

}  // namespace keiko
