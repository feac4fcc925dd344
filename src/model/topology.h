// What the parts of one node are to each other: which NIC is near which device, which devices are
// joined by more than PCIe. Pure functions over what the node says of itself.
#pragma once

#include <cstdint>
#include <vector>

#include "model/node.h"
#include "model/pci_path.h"

namespace keiko {

/// RETURNS: where the device is: its slot's place, or without one what the device itself says.
PciPlace place_of(const NodeSpec& node, const Device& device);
PciPlace place_of(const NodeSpec& node, const Nic& nic);

/// The way between two devices.
struct DeviceWay {
  LinkKind kind = LinkKind::kSystem;
  /// By PCIe, even if `kind` is better. Where no path is known it follows from the kind: below one
  /// host bridge at best, so that nothing is promised.
  Nearness nearness = Nearness::kFar;
  const Link* link = nullptr;  ///< the node's own record of it; none: it tells of none
};

/// RETURNS: a square of the node's devices by index; a device is kSame to itself. `link`s point
/// into `node`.
std::vector<std::vector<DeviceWay>> device_ways(const NodeSpec& node);

/// RETURNS: a row for each device, with how near each of the node's NICs is. A bond is as near as
/// the nearest of its members.
std::vector<std::vector<Nearness>> nic_nearness(const NodeSpec& node);

/// `row` is one device's of nic_nearness(). RETURNS: the NICs (places in HostSpec::nics) that no
/// other is nearer than, those of another NUMA node and bonds left out.
std::vector<int32_t> nearest_nics(const NodeSpec& node, const std::vector<Nearness>& row);

/// RETURNS: the sets of two and more devices that are joined by NVLink, XGMI or the like, directly
/// or over others; each in index order, sets by their first device.
std::vector<std::vector<int32_t>> islands(const NodeSpec& node);

}  // namespace keiko
