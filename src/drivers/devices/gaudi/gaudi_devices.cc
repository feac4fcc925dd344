#include "drivers/devices/gaudi/gaudi_devices.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/text.h"
#include "drivers/devices/gaudi/gaudi_names.h"

namespace keiko {
namespace {

constexpr int64_t kVendor = 0x1da3;
constexpr char kOldClass[] = "/sys/class/habanalabs";
constexpr NumberRange kModuleId{0, 255};

/// Finds the chip's node in the class accel, whose entries lie below the PCI function.
bool find_in_accel(const SysfsTree& tree, SysfsDevice& chip) {
  const std::string name = tree.numbered_name(chip.function.folder + "/accel", "accel");
  const auto number = number_after("accel", name);
  if (!number) return false;
  chip.number = *number;
  chip.nodes = {"/dev/accel/" + name};
  chip.device.files = {chip.nodes[0], "/dev/accel/accel_controlD" + std::to_string(*number)};
  const std::string entry = chip.function.folder + "/accel/" + name;
  chip.folder = tree.exists(entry + "/device_type") ? entry : chip.function.folder;
  return true;
}

/// Finds it in the class before Linux 6.5, whose entries lie nowhere and name their PCI address.
bool find_in_old_class(const SysfsTree& tree, SysfsDevice& chip) {
  for (const std::string& name : tree.names(kOldClass)) {
    const auto number = number_after("hl", name);
    const std::string entry = std::string(kOldClass) + "/" + name;
    if (!number || tree.text(entry + "/pci_addr") != chip.function.address) continue;
    chip.number = *number;
    chip.nodes = {"/dev/" + name};
    chip.device.files = {chip.nodes[0], "/dev/hl_controlD" + std::to_string(*number)};
    chip.folder = entry;
    return true;
  }
  return false;
}

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The module ids of the chips, in their order; nothing if one of them tells none.
std::optional<std::vector<std::string>> modules_of(const SysfsTree& tree,
                                                   const std::vector<SysfsDevice>& chips) {
  std::vector<std::string> modules;
  for (const SysfsDevice& chip : chips) {
    const auto module = tree.number(chip.folder + "/module_id", kModuleId);
    if (!module) return std::nullopt;
    modules.push_back(std::to_string(*module));
  }
  return modules;
}

}  // namespace

std::vector<SysfsDevice> GaudiDevices::find() const {
  std::vector<SysfsDevice> found;
  for (PciFunction& function : pci_functions_of_vendor(tree(), kVendor)) {
    SysfsDevice chip;
    chip.function = std::move(function);
    if (!find_in_accel(tree(), chip) && !find_in_old_class(tree(), chip)) continue;
    const std::string type = tree().text(chip.folder + "/device_type").value_or("");
    const GaudiProduct product = gaudi_product(type, chip.function.device);
    chip.device.kind = product.kind;
    chip.device.product = product.product;
    chip.device.architecture = product.product.empty() ? "" : product.kind;
    chip.device.memory = product.memory;
    const std::string module = "/sys/module/habanalabs/version";
    const auto version = tree().text(chip.folder + "/driver_ver");
    chip.device.driver_version = version ? *version : tree().text(module).value_or("");
    found.push_back(std::move(chip));
  }
  return found;
}

std::map<std::string, std::string> GaudiDevices::variables(
    const std::vector<SysfsDevice>& chosen, const std::vector<SysfsDevice>& all) const {
  std::vector<std::string> numbers;
  for (const SysfsDevice& chip : chosen) numbers.push_back(std::to_string(chip.number));
  std::map<std::string, std::string> shown{
      {"HABANA_VISIBLE_DEVICES", numbers.empty() ? "none" : join(numbers, ",")}};
  const auto modules = modules_of(tree(), chosen);
  if (modules && modules_of(tree(), all)) {
    shown.emplace("HABANA_VISIBLE_MODULES", modules->empty() ? "-1" : join(*modules, ","));
  }
  return shown;
}

// Documentation/ABI/testing/sysfs-driver-habanalabs.
void GaudiDevices::read_stats(const SysfsDevice& chip, StatsReader& reader) const {
  reader.put("sm_clock_mhz", chip.folder + "/clk_cur_freq_mhz", kMegahertz);
  reader.put("power_limit_watts", chip.folder + "/max_power", kMilliwatts);
  reader.put("hard_resets", chip.folder + "/hard_reset_cnt", kCount);
  // The driver names its sensors after the card and does not label them.
  for (const std::string& sensors : hwmon_folders(tree(), chip.function.folder, "")) {
    reader.put_largest("temperature_celsius", sensors, "temp", kMillidegrees);
    reader.put("power_watts", sensors + "/power1_input", kMicrowatts);
  }
}

std::string GaudiDevices::trouble(const SysfsDevice& chip) const {
  const std::string status = lowered(tree().text(chip.folder + "/status").value_or(""));
  const bool broken = status == "malfunction" || status == "disabled" || status == "needs reset";
  if (!broken) return {};
  return "the driver says \"" + status + "\" of " + chip.device.kind + " at " +
         chip.function.address + "; write 1 to " + tree().full(chip.folder) +
         "/hard_reset, or reboot";
}

}  // namespace keiko
