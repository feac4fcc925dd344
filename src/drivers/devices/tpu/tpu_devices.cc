#include "drivers/devices/tpu/tpu_devices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "drivers/devices/tpu/tpu_names.h"

namespace keiko {
namespace {

constexpr int64_t kVendor = 0x1ae0;
/// The PCI class of accelerators; the vendor's network cards and disks are of others.
constexpr int64_t kAcceleratorClass = 0x12;
constexpr char kVfio[] = "/dev/vfio/vfio";

/// What opens one function of a chip.
struct Node {
  std::string path;
  int64_t number = -1;
  bool vfio = false;
};

/// RETURNS: nothing for a function that no driver offers to user space.
std::optional<Node> node_of(const SysfsTree& tree, const PciFunction& function) {
  const std::string name = tree.numbered_name(function.folder + "/accel", "accel");
  if (const auto number = number_after("accel", name)) {
    const bool in_folder = !tree.exists("/dev/" + name) && tree.exists("/dev/accel/" + name);
    return Node{(in_folder ? "/dev/accel/" : "/dev/") + name, *number, false};
  }
  if (tree.link_name(function.folder + "/driver") != "vfio-pci") return std::nullopt;
  const std::string group = tree.link_name(function.folder + "/iommu_group");
  const auto number = number_after("", group);
  if (!number) return std::nullopt;
  return Node{"/dev/vfio/" + group, *number, true};
}

SysfsDevice make_chip(PciFunction function, const TpuProduct& product) {
  SysfsDevice chip;
  chip.function = std::move(function);
  chip.folder = chip.function.folder;
  chip.device.kind = product.kind;
  chip.device.product = product.product;
  chip.device.architecture = product.architecture;
  chip.device.memory = product.memory;
  return chip;
}

void add_node(SysfsDevice& chip, const Node& node) {
  if (chip.number < 0) chip.number = node.number;
  chip.nodes.push_back(node.path);
  chip.device.files = chip.nodes;
  if (node.vfio) chip.device.files.emplace_back(kVfio);
}

/// A chip of two cores may show each as a function of its own.
bool on_one_board(const PciFunction& one, const PciFunction& two) {
  const auto slot = [](const PciFunction& f) { return f.address.substr(0, f.address.rfind('.')); };
  return slot(one) == slot(two) && one.device == two.device;
}

/// libtpu counts chips behind vfio from 0 in the order of their groups, whose numbers may have
/// gaps.
void count_from_zero(std::vector<SysfsDevice>& chips) {
  std::vector<int64_t> groups;
  for (const SysfsDevice& chip : chips) groups.push_back(chip.number);
  std::sort(groups.begin(), groups.end());
  for (SysfsDevice& chip : chips) {
    chip.number = std::lower_bound(groups.begin(), groups.end(), chip.number) - groups.begin();
  }
}

/// The shape in which so many chips of one machine are connected; empty if they have none.
std::string bounds_of(size_t count) {
  switch (count) {
    case 1: return "1,1,1";
    case 2: return "1,2,1";
    case 4: return "2,2,1";
    default: return {};
  }
}

}  // namespace

std::vector<SysfsDevice> TpuDevices::find() const {
  std::vector<SysfsDevice> found;
  bool vfio = false;
  for (PciFunction& function : pci_functions_of_vendor(tree(), kVendor)) {
    const TpuProduct product = tpu_product(function.device, function.subsystem);
    if (!product.known() && function.base_class != kAcceleratorClass) continue;
    const auto node = node_of(tree(), function);
    if (!node) continue;
    vfio = vfio || node->vfio;
    const bool another_core = !found.empty() && on_one_board(found.back().function, function);
    if (!another_core) found.push_back(make_chip(std::move(function), product));
    add_node(found.back(), *node);
  }
  if (vfio) count_from_zero(found);
  return found;
}

std::map<std::string, std::string> TpuDevices::variables(
    const std::vector<SysfsDevice>& chosen, const std::vector<SysfsDevice>& all) const {
  std::vector<std::string> numbers;
  for (const SysfsDevice& chip : chosen) numbers.push_back(std::to_string(chip.number));
  const std::string visible = numbers.empty() ? "-1" : join(numbers, ",");
  std::map<std::string, std::string> shown{{"TPU_VISIBLE_CHIPS", visible},
                                           {"TPU_VISIBLE_DEVICES", visible}};
  const std::string bounds = chosen.size() < all.size() ? bounds_of(chosen.size()) : "";
  if (bounds.empty()) return shown;
  shown.emplace("TPU_CHIPS_PER_PROCESS_BOUNDS", bounds);
  shown.emplace("TPU_CHIPS_PER_HOST_BOUNDS", bounds);
  shown.emplace("TPU_PROCESS_BOUNDS", "1,1,1");
  shown.emplace("TPU_HOST_BOUNDS", "1,1,1");
  return shown;
}

}  // namespace keiko
