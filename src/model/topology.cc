#include "model/topology.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace keiko {
namespace {

const HostSpec& host_of(const NodeSpec& node) {
  static const HostSpec nothing;
  return node.host ? *node.host : nothing;
}

/// On a machine with one NUMA node everything is next to it, whether the kernel says so or not.
int32_t numa_or_only(const NodeSpec& node, int32_t numa_node) {
  const std::vector<NumaNode>& numa = host_of(node).numa;
  return numa_node < 0 && numa.size() == 1 ? numa.front().index : numa_node;
}

std::optional<PciPlace> place_of_slot(const NodeSpec& node, const std::string& address) {
  PciAddress wanted;
  if (!parse_pci_address(address, wanted)) return std::nullopt;
  for (const PciSlot& slot : host_of(node).slots) {
    PciPlace place{parse_pci_path(slot.path), numa_or_only(node, slot.numa_node)};
    PciAddress found;
    if (parse_pci_address(place.path.address(), found) && found == wanted) return place;
  }
  return std::nullopt;
}

DeviceWay way_by_place(const PciPlace& one, const PciPlace& two) {
  DeviceWay way;
  way.nearness = nearness(one, two);
  way.kind = link_kind(way.nearness);
  return way;
}

Nearness nearness_of(LinkKind kind) {
  if (kind == LinkKind::kPcie) return Nearness::kRoot;
  return kind == LinkKind::kNuma ? Nearness::kNuma : Nearness::kFar;
}

bool is_known(const PciPlace& place) { return !place.path.steps.empty(); }

/// Whether both are slices of one device, or one and the same.
bool are_one_function(const Device& one, const Device& two) {
  PciAddress first;
  PciAddress second;
  return parse_pci_address(one.pci_address, first) &&
         parse_pci_address(two.pci_address, second) && first == second;
}

/// What the bus alone says, and that slices share their device.
std::vector<std::vector<DeviceWay>> ways_by_place(const NodeSpec& node,
                                                  const std::vector<PciPlace>& places) {
  const size_t count = node.devices.size();
  std::vector<std::vector<DeviceWay>> ways(count, std::vector<DeviceWay>(count));
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      const bool one = i == j || are_one_function(node.devices[i], node.devices[j]);
      ways[i][j] = one ? DeviceWay{LinkKind::kShared, Nearness::kSame, nullptr}
                       : way_by_place(places[i], places[j]);
    }
  }
  return ways;
}

/// The nearness of a bond is that of its nearest member.
void set_bonds(const std::vector<Nic>& nics, std::vector<Nearness>& row) {
  for (size_t bond = 0; bond < nics.size(); ++bond) {
    for (size_t i = 0; i < nics.size(); ++i) {
      const auto& members = nics[bond].members;
      const bool joined = std::find(members.begin(), members.end(), nics[i].interface) !=
                          members.end();
      if (joined && i != bond) row[bond] = std::min(row[bond], row[i]);
    }
  }
}

}  // namespace

PciPlace place_of(const NodeSpec& node, const Device& device) {
  if (auto place = place_of_slot(node, device.pci_address)) return *std::move(place);
  return {{}, numa_or_only(node, device.numa_node)};
}

PciPlace place_of(const NodeSpec& node, const Nic& nic) {
  if (auto place = place_of_slot(node, nic.pci_address)) return *std::move(place);
  return {{}, numa_or_only(node, nic.numa_node)};
}

std::vector<std::vector<DeviceWay>> device_ways(const NodeSpec& node) {
  const size_t count = node.devices.size();
  std::vector<PciPlace> places;
  for (const Device& device : node.devices) places.push_back(place_of(node, device));
  std::vector<std::vector<DeviceWay>> ways = ways_by_place(node, places);
  for (const Link& link : node.links) {
    const auto first = static_cast<size_t>(link.first);
    const auto second = static_cast<size_t>(link.second);
    if (first >= second || second >= count) continue;
    DeviceWay& way = ways[first][second];
    way.link = &link;
    if (link.kind >= LinkKind::kNvlink) way.kind = link.kind;
    const bool by_path = is_known(places[first]) && is_known(places[second]);
    if (link.kind < LinkKind::kNvlink && !by_path && way.nearness != Nearness::kSame) {
      way.nearness = nearness_of(link.kind);
      way.kind = link_kind(way.nearness);
    }
    ways[second][first] = way;
  }
  return ways;
}

std::vector<std::vector<Nearness>> nic_nearness(const NodeSpec& node) {
  const std::vector<Nic>& nics = host_of(node).nics;
  std::vector<PciPlace> places;
  for (const Nic& nic : nics) places.push_back(place_of(node, nic));
  std::vector<std::vector<Nearness>> rows;
  for (const Device& device : node.devices) {
    const PciPlace own = place_of(node, device);
    std::vector<Nearness> row;
    for (size_t i = 0; i < nics.size(); ++i) {
      row.push_back(nics[i].members.empty() ? nearness(own, places[i]) : Nearness::kFar);
    }
    set_bonds(nics, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<int32_t> nearest_nics(const NodeSpec& node, const std::vector<Nearness>& row) {
  const std::vector<Nic>& nics = host_of(node).nics;
  const auto nearest = std::min_element(row.begin(), row.end());
  std::vector<int32_t> found;
  if (nearest == row.end() || *nearest == Nearness::kFar) return found;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == *nearest && nics[i].members.empty()) found.push_back(static_cast<int32_t>(i));
  }
  return found;
}

std::vector<std::vector<int32_t>> islands(const NodeSpec& node) {
  std::vector<size_t> leader(node.devices.size());
  std::iota(leader.begin(), leader.end(), size_t{0});
  const auto find = [&](size_t device) {
    while (leader[device] != device) device = leader[device];
    return device;
  };
  for (const Link& link : node.links) {
    const auto first = static_cast<size_t>(link.first);
    const auto second = static_cast<size_t>(link.second);
    if (link.kind < LinkKind::kNvlink || first >= second || second >= leader.size()) continue;
    const size_t one = find(first);
    const size_t two = find(second);
    leader[std::max(one, two)] = std::min(one, two);
  }
  std::vector<std::vector<int32_t>> sets(leader.size());
  for (size_t i = 0; i < leader.size(); ++i) sets[find(i)].push_back(static_cast<int32_t>(i));
  std::erase_if(sets, [](const std::vector<int32_t>& set) { return set.size() < 2; });
  return sets;
}

}  // namespace keiko
