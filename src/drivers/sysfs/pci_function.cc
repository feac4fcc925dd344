#include "drivers/sysfs/pci_function.h"

#include <algorithm>

#include "base/text.h"

namespace keiko {
namespace {

constexpr char kBusFolder[] = "/sys/bus/pci/devices/";
constexpr NumberRange kId{0, 0xffff};

/// "16.0 GT/s PCIe" as 160; 0 for anything else ("Unknown").
int64_t tenths_of_rate(const std::optional<std::string>& text) {
  if (!text) return 0;
  const size_t unit = text->find(" GT/s");
  const size_t point = text->find('.');
  if (unit == std::string::npos || point == std::string::npos || point > unit) return 0;
  const auto whole = parse_whole_number(text->substr(0, point));
  const auto tenth = parse_whole_number(text->substr(point + 1, unit - point - 1));
  if (!whole || !tenth || *whole < 0 || *whole > 1000 || *tenth < 0 || *tenth > 9) return 0;
  return *whole * 10 + *tenth;
}

constexpr int64_t kNoLimit = -1;  ///< the step says nothing of its speed, as a host bridge

struct LaneSpeed {
  int64_t now = kNoLimit;
  int64_t healthy = kNoLimit;
};

/// What the link above one function gives; 0 where it tells of one but not what. The lanes that
/// trained count, the rate does not: an idle device lowers it to save power.
LaneSpeed speed_above(const SysfsTree& tree, const std::string& folder) {
  if (!tree.exists(folder + "/max_link_speed")) return {};
  const NumberRange width{1, 32};
  const int64_t rate = tenths_of_rate(tree.text(folder + "/max_link_speed"));
  const int64_t most = tree.number(folder + "/max_link_width", width).value_or(0);
  const int64_t lanes = tree.number(folder + "/current_link_width", width).value_or(0);
  return {pcie_lane_megabytes_per_s(rate, std::min(lanes, most)),
          pcie_lane_megabytes_per_s(rate, most)};
}

/// The narrowest link between a function and its host bridge; 0 if one on the way is unknown.
LaneSpeed speed_of_path(const SysfsTree& tree, const PciPath& path) {
  LaneSpeed narrowest;
  const auto tighten = [](int64_t& speed, int64_t step) {
    if (step != kNoLimit && (speed == kNoLimit || step < speed)) speed = step;
  };
  for (size_t i = 1; i < path.steps.size(); ++i) {
    const LaneSpeed step = speed_above(tree, kBusFolder + path.steps[i]);
    tighten(narrowest.now, step.now);
    tighten(narrowest.healthy, step.healthy);
  }
  return narrowest;
}

std::vector<PciFunction> list_functions(const SysfsTree& tree,
                                        const std::vector<std::string>& addresses) {
  std::vector<PciFunction> functions;
  for (const std::string& address : addresses) {
    auto function = read_pci_function(tree, address);
    if (function) functions.push_back(std::move(*function));
  }
  std::sort(functions.begin(), functions.end(), in_pci_order);
  return functions;
}

}  // namespace

std::optional<PciFunction> read_pci_function(const SysfsTree& tree, const std::string& address) {
  PciAddress parsed;
  if (!parse_pci_address(address, parsed)) return std::nullopt;
  PciFunction function;
  function.address = to_text(parsed);
  function.folder = tree.resolved(kBusFolder + function.address);
  if (function.folder.empty()) return std::nullopt;
  function.place.path = parse_pci_path(function.folder);
  const auto numa = tree.number(function.folder + "/numa_node", {-1, 4095});
  function.place.numa_node = static_cast<int32_t>(numa.value_or(-1));
  function.vendor = tree.number(function.folder + "/vendor", kId).value_or(-1);
  function.device = tree.number(function.folder + "/device", kId).value_or(-1);
  function.subsystem = tree.number(function.folder + "/subsystem_device", kId).value_or(-1);
  const auto pci_class = tree.number(function.folder + "/class", {0, 0xffffff});
  if (pci_class) {
    function.base_class = *pci_class >> 16;
    function.sub_class = (*pci_class >> 8) & 0xff;
  }
  const LaneSpeed speed = speed_of_path(tree, function.place.path);
  function.megabytes_per_s = std::max<int64_t>(speed.now, 0);
  function.healthy_megabytes_per_s = std::max<int64_t>(speed.healthy, 0);
  return function;
}

std::optional<PciFunction> pci_function_of(const SysfsTree& tree, const std::string& path) {
  const std::string address = parse_pci_path(tree.resolved(path)).address();
  return address.empty() ? std::nullopt : read_pci_function(tree, address);
}

std::vector<PciFunction> list_pci_functions(const SysfsTree& tree) {
  return list_functions(tree, tree.names(kBusFolder));
}

std::vector<PciFunction> pci_functions_of_vendor(const SysfsTree& tree, int64_t vendor) {
  std::vector<std::string> addresses = tree.names(kBusFolder);
  std::erase_if(addresses, [&](const std::string& address) {
    return tree.number(kBusFolder + address + "/vendor", kId) != vendor;
  });
  return list_functions(tree, addresses);
}

bool in_pci_order(const PciFunction& one, const PciFunction& two) {
  PciAddress first;
  PciAddress second;
  parse_pci_address(one.address, first);
  parse_pci_address(two.address, second);
  return first < second;
}

Link pcie_link(int32_t first, int32_t second, const PciFunction& one, const PciFunction& two) {
  Link link;
  link.first = first;
  link.second = second;
  link.kind = link_kind(nearness(one.place, two.place));
  const bool both = one.megabytes_per_s > 0 && two.megabytes_per_s > 0;
  if (both) link.megabytes_per_s = std::min(one.megabytes_per_s, two.megabytes_per_s);
  if (one.healthy_megabytes_per_s > 0 && two.healthy_megabytes_per_s > 0) {
    link.healthy_megabytes_per_s =
        std::min(one.healthy_megabytes_per_s, two.healthy_megabytes_per_s);
  }
  return link;
}

std::vector<Link> pcie_links(const std::vector<PciFunction>& functions) {
  std::vector<Link> links;
  const auto count = static_cast<int32_t>(functions.size());
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t j = i + 1; j < count; ++j) {
      links.push_back(pcie_link(i, j, functions[static_cast<size_t>(i)],
                                functions[static_cast<size_t>(j)]));
    }
  }
  return links;
}

int32_t numa_node_of(const PciFunction& function) {
  return std::max(function.place.numa_node, 0);
}

}  // namespace keiko
