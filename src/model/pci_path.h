// PciPath: where a device hangs in the PCI tree of its machine, and what that says of the way
// between two devices. Pure text work: who reads the kernel gives the path in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/device.h"

namespace keiko {

/// A function's PCI address in parts, in the order by which machines count their devices.
struct PciAddress {
  uint32_t domain = 0;
  uint32_t bus = 0;
  uint32_t slot = 0;
  uint32_t function = 0;

  friend auto operator<=>(const PciAddress&, const PciAddress&) = default;
};

/// Reads "0000:3b:00.0", in any case and with up to eight digits of domain. RETURNS: false, and
/// leaves `address` alone, for anything else.
bool parse_pci_address(std::string_view text, PciAddress& address);

/// RETURNS: "0000:3b:00.0", as the kernel writes it.
std::string to_text(const PciAddress& address);

/// The steps from a host bridge down to a device: "pci0000:37", "0000:37:01.0", "0000:3b:00.0".
struct PciPath {
  std::vector<std::string> steps;

  /// RETURNS: the device's own address, empty if there is no path.
  std::string address() const { return steps.size() < 2 ? std::string() : steps.back(); }
  /// RETURNS: the host bridge it hangs from, "pci0000:37"; empty if there is no path.
  std::string root() const { return steps.empty() ? std::string() : steps.front(); }
};

/// Reads a device's folder in sysfs, "/sys/devices/pci0000:37/0000:37:01.0/0000:3b:00.0/net/eth0":
/// what stands before the host bridge and after the last PCI address is left out.
/// RETURNS: no steps if the device is not on a PCI bus.
PciPath parse_pci_path(std::string_view folder);

/// How near two devices of one machine are, nearest first.
enum class Nearness : int {
  kSame = 0,    ///< one and the same function
  kSwitch = 1,  ///< below one root port: one switch, or two functions of one board
  kRoot = 2,    ///< below one host bridge
  kNuma = 3,    ///< host bridges of one NUMA node
  kFar = 4,     ///< another NUMA node, or nobody knows
};
std::string to_text(Nearness nearness);  ///< "same", "switch", "root", "numa", "far"

/// A device's place: its path and the NUMA node next to it, -1 where the kernel knows none.
struct PciPlace {
  PciPath path;
  int32_t numa_node = -1;
};

/// RETURNS: how near the two are. A NUMA node that is unknown on both sides is the same node, as on
/// machines with one; unknown on one side it is another, so that nothing is promised.
Nearness nearness(const PciPlace& one, const PciPlace& two);

/// RETURNS: the kind of the way between two devices that have nothing better than PCIe.
LinkKind link_kind(Nearness nearness);

/// RETURNS: MB/s per direction, after encoding, of a PCIe link whose transfers are counted in
/// tenths of GT/s (80 for the third generation); 0 for a rate or a width that no link has.
int64_t pcie_lane_megabytes_per_s(int64_t tenths_gt_per_s, int64_t lanes);

}  // namespace keiko
