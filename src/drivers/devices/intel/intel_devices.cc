#include "drivers/devices/intel/intel_devices.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "drivers/devices/intel/intel_names.h"

namespace keiko {
namespace {

constexpr int64_t kVendor = 0x8086;
constexpr char kNoGpu[] = "9999";
/// The host bridge and the function itself: nothing in between, as the GPU of a processor.
constexpr size_t kStepsOnRootBus = 2;
constexpr NumberRange kMemory{1, int64_t{16} << 40};

/// The memory of the tiles as xe tells it; nothing if any tile does not, since a part of the memory
/// is a wrong number.
std::optional<int64_t> tile_memory(const SysfsTree& tree, const std::string& folder) {
  std::optional<int64_t> sum;
  for (const std::string& name : tree.names(folder)) {
    if (!number_after("tile", name)) continue;
    const auto size = tree.number(folder + "/" + name + "/physical_vram_size_bytes", kMemory);
    if (!size) return std::nullopt;
    sum = sum.value_or(0) + *size;
  }
  return sum;
}

/// The memory of its own that the kernel tells of. i915 has the file only in Intel's own releases.
std::optional<int64_t> told_memory(const SysfsTree& tree, const SysfsDevice& gpu) {
  const auto tiles = tile_memory(tree, gpu.function.folder);
  return tiles ? tiles : tree.number(gpu.folder + "/lmem_total_bytes", kMemory);
}

/// Fills in the device. RETURNS: false for an integrated GPU.
bool describe(const SysfsTree& tree, SysfsDevice& gpu) {
  const IntelProduct product = intel_product(gpu.function.device);
  const std::optional<int64_t> memory = told_memory(tree, gpu);
  const bool on_root_bus = gpu.function.place.path.steps.size() <= kStepsOnRootBus;
  if (!memory && !product.known() && on_root_bus) return false;
  Device& device = gpu.device;
  device.kind = product.kind;
  device.product = product.product;
  device.architecture = product.architecture;
  device.memory = memory ? Bytes{*memory} : product.memory;
  const std::string driver = tree.link_name(gpu.function.folder + "/driver");
  device.driver_version = tree.text("/sys/module/" + driver + "/version").value_or("");
  return true;
}

}  // namespace

std::vector<SysfsDevice> IntelDevices::find() const {
  std::vector<SysfsDevice> found;
  int64_t counted = 0;
  for (PciFunction& function : pci_functions_of_vendor(tree(), kVendor)) {
    const std::string drm = function.folder + "/drm";
    const std::string render = tree().numbered_name(drm, "renderD");
    if (render.empty()) continue;  // no GPU, or nobody can compute on it
    const std::string card = tree().numbered_name(drm, "card");
    SysfsDevice gpu;
    gpu.function = std::move(function);
    gpu.number = counted++;
    gpu.folder = drm + "/" + card;
    gpu.nodes = {"/dev/dri/" + render};
    gpu.device.files = gpu.nodes;
    if (!card.empty()) gpu.nodes.push_back("/dev/dri/" + card);
    if (describe(tree(), gpu)) found.push_back(std::move(gpu));
  }
  return found;
}

std::map<std::string, std::string> IntelDevices::variables(
    const std::vector<SysfsDevice>& chosen, const std::vector<SysfsDevice>&) const {
  std::vector<std::string> numbers;
  for (const SysfsDevice& gpu : chosen) numbers.push_back(std::to_string(gpu.number));
  return {{"ZE_AFFINITY_MASK", numbers.empty() ? kNoGpu : join(numbers, ",")},
          {"ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1"},
          {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"},
          {"ONEAPI_DEVICE_SELECTOR", numbers.empty() ? "!*:gpu" : "level_zero:gpu"}};
}

// Documentation/ABI/testing/sysfs-driver-intel-{i915,xe}-hwmon: sensor 1 is the card, with xe 2 is
// the package and temperature 3 the memory's.
void IntelDevices::read_stats(const SysfsDevice& gpu, StatsReader& reader) const {
  const std::string& folder = gpu.function.folder;
  if (const auto memory = told_memory(tree(), gpu)) {
    reader.put_value("memory_total_bytes", static_cast<double>(*memory));
  }
  if (!reader.put("sm_clock_mhz", folder + "/tile0/gt0/freq0/act_freq", kMegahertz)) {
    reader.put("sm_clock_mhz", gpu.folder + "/gt_act_freq_mhz", kMegahertz);
  }
  for (const char* const driver : {"xe", "i915"}) {
    for (const std::string& sensors : hwmon_folders(tree(), folder, driver)) {
      if (!reader.put("energy_joules", sensors + "/energy1_input", kMicrojoules)) {
        reader.put("energy_joules", sensors + "/energy2_input", kMicrojoules);
      }
      if (!reader.put("power_limit_watts", sensors + "/power1_max", kPowerLimit)) {
        reader.put("power_limit_watts", sensors + "/power2_max", kPowerLimit);
      }
      if (!reader.put("temperature_celsius", sensors + "/temp2_input", kMillidegrees)) {
        reader.put("temperature_celsius", sensors + "/temp1_input", kMillidegrees);
      }
      reader.put("memory_temperature_celsius", sensors + "/temp3_input", kMillidegrees);
    }
  }
}

}  // namespace keiko
