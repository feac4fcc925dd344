#include "drivers/devices/nvml/nvml_machine.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <tuple>

#include "base/log.h"
#include "base/text.h"
#include "drivers/devices/nvml/nvml_names.h"

namespace keiko {
namespace {

/// Beyond it a size is a sentinel or garbage.
constexpr uint64_t kMostMemory = uint64_t{1} << 46;
constexpr uint32_t kMostGpus = 1024;
constexpr uint32_t kMostSlices = 64;

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int64_t machine_memory(const NvmlPlaces& places) {
  std::istringstream lines(read_text(places.proc_root + "/meminfo"));
  std::string word;
  int64_t kib = 0;
  while (lines >> word) {
    if (word == "MemTotal:" && lines >> kib) return kibibytes(kib).count;
    lines.ignore(256, '\n');
  }
  return 0;
}

/// What workers can use: all but the driver's reserve. 0 if nobody tells.
int64_t usable_memory(const NvmlLibrary& library, NvmlDevice handle, const NvmlPlaces& places) {
  NvmlMemory2 newer{};
  newer.version = nvml_version(sizeof newer, 2);
  if (library.call(&NvmlSymbols::nvmlDeviceGetMemoryInfo_v2, handle, &newer) == kNvmlSuccess) {
    const bool sane = newer.total < kMostMemory && newer.reserved < newer.total;
    return sane ? static_cast<int64_t>(newer.total - newer.reserved) : 0;
  }
  NvmlMemory older{};
  const NvmlReturn answer = library.call(&NvmlSymbols::nvmlDeviceGetMemoryInfo, handle, &older);
  if (answer == kNvmlSuccess) {
    return older.total < kMostMemory ? static_cast<int64_t>(older.total) : 0;
  }
  // A GPU that shares the machine's memory has none of its own to tell of.
  return answer == kNvmlNotSupported ? machine_memory(places) : 0;
}

/// RETURNS: the NUMA node of a PCI address, 0 on a machine that has only one.
int32_t numa_node_of(const NvmlPlaces& places, const std::string& address) {
  const std::string text =
      read_text(places.sys_root + "/bus/pci/devices/" + address + "/numa_node");
  uint64_t node = 0;
  return parse_digits(trim(text), node) && node < 4096 ? static_cast<int32_t>(node) : 0;
}

int64_t slot_speed(const NvmlLibrary& library, NvmlDevice handle) {
  uint32_t generation = 0;
  uint32_t lanes = 0;
  library.call(&NvmlSymbols::nvmlDeviceGetMaxPcieLinkGeneration, handle, &generation);
  library.call(&NvmlSymbols::nvmlDeviceGetMaxPcieLinkWidth, handle, &lanes);
  return pcie_megabytes_per_s(generation, lanes);
}

Result<NvmlGpu> read_gpu(const NvmlLibrary& library, uint32_t index, const NvmlPlaces& places) {
  const std::string what = "GPU " + std::to_string(index);
  NvmlGpu gpu;
  const NvmlReturn answer =
      library.call(&NvmlSymbols::nvmlDeviceGetHandleByIndex_v2, index, &gpu.handle);
  if (answer != kNvmlSuccess) return nvml_error(what, answer);
  gpu.uuid = nvml_text(library, &NvmlSymbols::nvmlDeviceGetUUID, gpu.handle);
  if (gpu.uuid.empty()) return unavailable(what + " does not tell its UUID");
  gpu.product = nvml_text(library, &NvmlSymbols::nvmlDeviceGetName, gpu.handle);
  if (library.call(&NvmlSymbols::nvmlDeviceGetPciInfo_v3, gpu.handle, &gpu.pci) == kNvmlSuccess) {
    gpu.address = pci_address(gpu.pci);
  }
  library.call(&NvmlSymbols::nvmlDeviceGetMinorNumber, gpu.handle, &gpu.minor);
  uint32_t mig = 0;
  uint32_t pending = 0;
  gpu.split = library.call(&NvmlSymbols::nvmlDeviceGetMigMode, gpu.handle, &mig, &pending) ==
                  kNvmlSuccess && mig == 1;
  gpu.bytes = usable_memory(library, gpu.handle, places);
  return gpu;
}

/// What all units of one GPU have in common.
Device device_of_gpu(const NvmlLibrary& library, const NvmlGpu& gpu, const NvmlPlaces& places) {
  Device device;
  device.vendor = "nvidia";
  device.kind = kind_of_product(gpu.product);
  device.product = gpu.product;
  device.pci_address = gpu.address;
  if (!gpu.address.empty()) device.numa_node = numa_node_of(places, gpu.address);
  uint32_t architecture = 0;
  library.call(&NvmlSymbols::nvmlDeviceGetArchitecture, gpu.handle, &architecture);
  device.architecture = architecture_name(architecture);
  device.driver_version = nvml_text(library, &NvmlSymbols::nvmlSystemGetDriverVersion);
  device.host_megabytes_per_s = slot_speed(library, gpu.handle);
  device.files = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
  if (gpu.minor < kMostGpus) device.files.push_back("/dev/nvidia" + std::to_string(gpu.minor));
  return device;
}

/// The capability file of a GPU instance or of a compute instance in it: "/dev/nvidia-caps/
/// nvidia-cap12", whose number the driver tells in /proc.
void add_capability(std::vector<std::string>& files, const std::string& folder) {
  std::istringstream words(read_text(folder + "/access"));
  std::string word;
  uint64_t minor = 0;
  while (words >> word) {
    if (word == "DeviceFileMinor:" && words >> word && parse_digits(word, minor)) {
      files.push_back("/dev/nvidia-caps/nvidia-cap" + std::to_string(minor));
    }
  }
}

void add_slice_files(NvmlUnit& unit, const NvmlGpu& gpu, const NvmlPlaces& places) {
  const std::string instance = places.proc_root + "/driver/nvidia/capabilities/gpu" +
                               std::to_string(gpu.minor) + "/mig/gi" +
                               std::to_string(unit.gpu_instance);
  add_capability(unit.device.files, instance);
  add_capability(unit.device.files, instance + "/ci" + std::to_string(unit.compute_instance));
}

/// RETURNS: the slice behind a handle; its UUID is empty if it cannot be told from others.
NvmlUnit read_slice(const NvmlLibrary& library, NvmlDevice handle, const NvmlGpu& gpu,
                    const NvmlPlaces& places) {
  NvmlUnit unit;
  unit.handle = handle;
  unit.gpu_instance = 0;
  unit.compute_instance = 0;
  library.call(&NvmlSymbols::nvmlDeviceGetGpuInstanceId, handle, &unit.gpu_instance);
  library.call(&NvmlSymbols::nvmlDeviceGetComputeInstanceId, handle, &unit.compute_instance);
  unit.device = device_of_gpu(library, gpu, places);
  unit.device.uuid = nvml_text(library, &NvmlSymbols::nvmlDeviceGetUUID, handle);
  unit.device.parent_uuid = gpu.uuid;
  unit.device.product = nvml_text(library, &NvmlSymbols::nvmlDeviceGetName, handle);
  unit.device.memory.count = usable_memory(library, handle, places);
  unit.device.mig_profile = mig_profile_of_name(unit.device.product);
  NvmlAttributes attributes{};
  const bool told = library.call(&NvmlSymbols::nvmlDeviceGetAttributes_v2, handle, &attributes) ==
                        kNvmlSuccess && attributes.memory_mib < kMostMemory >> 20;
  if (told && unit.device.mig_profile.empty()) {
    unit.device.mig_profile = mig_profile_of(attributes, gpu.bytes);
  }
  if (told && unit.device.memory.count == 0) {
    unit.device.memory = mebibytes(static_cast<int64_t>(attributes.memory_mib));
  }
  const std::string profile = unit.device.mig_profile;
  unit.device.kind += profile.empty() ? "-mig" : "-" + profile;
  add_slice_files(unit, gpu, places);
  return unit;
}

std::vector<NvmlUnit> read_slices(const NvmlLibrary& library, const NvmlGpu& gpu,
                                  const NvmlPlaces& places) {
  uint32_t most = 0;
  library.call(&NvmlSymbols::nvmlDeviceGetMaxMigDeviceCount, gpu.handle, &most);
  std::vector<NvmlUnit> slices;
  for (uint32_t i = 0; i < std::min(most, kMostSlices); ++i) {
    NvmlDevice handle = nullptr;
    const NvmlReturn answer =
        library.call(&NvmlSymbols::nvmlDeviceGetMigDeviceHandleByIndex, gpu.handle, i, &handle);
    if (answer == kNvmlSuccess) slices.push_back(read_slice(library, handle, gpu, places));
  }
  std::stable_sort(slices.begin(), slices.end(), [](const NvmlUnit& a, const NvmlUnit& b) {
    return std::tie(a.gpu_instance, a.compute_instance) <
           std::tie(b.gpu_instance, b.compute_instance);
  });
  return slices;
}

/// Adds a unit unless nobody could use it: without a UUID of its own it cannot be chosen, without
/// memory it cannot be placed.
void offer(NvmlMachine& machine, NvmlUnit unit) {
  const bool known = std::any_of(machine.units.begin(), machine.units.end(), [&](const auto& u) {
    return u.device.uuid == unit.device.uuid;
  });
  if (known || unit.device.uuid.empty() || unit.device.memory.count <= 0) {
    log_warn("device_left_out", "uuid=" + unit.device.uuid + " pci=" + unit.device.pci_address +
                                    " reason=\"its UUID or memory cannot be read\"");
    return;
  }
  unit.device.index = static_cast<int32_t>(machine.units.size());
  machine.units.push_back(std::move(unit));
}

void offer_gpu(const NvmlLibrary& library, NvmlMachine& machine, size_t place,
               const NvmlPlaces& places) {
  const NvmlGpu& gpu = machine.gpus[place];
  if (gpu.split) {
    for (NvmlUnit& slice : read_slices(library, gpu, places)) {
      slice.gpu = place;
      offer(machine, std::move(slice));
    }
    return;
  }
  NvmlUnit unit;
  unit.handle = gpu.handle;
  unit.gpu = place;
  unit.device = device_of_gpu(library, gpu, places);
  unit.device.uuid = gpu.uuid;
  unit.device.memory.count = gpu.bytes;
  offer(machine, std::move(unit));
}

}  // namespace

Result<NvmlMachine> find_machine(const NvmlLibrary& library, const NvmlPlaces& places) {
  uint32_t count = 0;
  const NvmlReturn answer = library.call(&NvmlSymbols::nvmlDeviceGetCount_v2, &count);
  if (answer != kNvmlSuccess) return nvml_error("count the GPUs", answer);
  NvmlMachine machine;
  for (uint32_t index = 0; index < std::min(count, kMostGpus); ++index) {
    Result<NvmlGpu> gpu = read_gpu(library, index, places);
    if (gpu.ok()) machine.gpus.push_back(std::move(gpu).value());
    else machine.silent.push_back(gpu.error().message);
  }
  std::stable_sort(machine.gpus.begin(), machine.gpus.end(),
                   [](const NvmlGpu& a, const NvmlGpu& b) {
                     return std::tie(a.pci.domain, a.pci.bus, a.pci.device) <
                            std::tie(b.pci.domain, b.pci.bus, b.pci.device);
                   });
  for (size_t place = 0; place < machine.gpus.size(); ++place) {
    offer_gpu(library, machine, place, places);
  }
  return machine;
}

}  // namespace keiko
