// PciFunction: what the kernel tells of one function on the PCI bus, and the links between those
// that have nothing better than PCIe. Shared by all drivers that find devices in sysfs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drivers/sysfs/sysfs_tree.h"
#include "model/device.h"
#include "model/pci_path.h"

namespace keiko {

struct PciFunction {
  std::string address;       ///< "0000:3b:00.0"
  std::string folder;        ///< of its own, links followed: "/sys/devices/pci0000:37/..."
  PciPlace place;
  int64_t vendor = -1;       ///< -1: the kernel does not tell
  int64_t device = -1;
  int64_t subsystem = -1;    ///< the board's own id (subsystem_device)
  int64_t base_class = -1;   ///< 0x03 display, 0x02 network, 0x12 accelerator, 0x06 bridge
  int64_t sub_class = -1;
  int64_t megabytes_per_s = 0;          ///< towards its host bridge; 0: unknown
  int64_t healthy_megabytes_per_s = 0;  ///< if every lane on the way had trained
};

/// RETURNS: the function with this address; nothing if the kernel does not list it.
std::optional<PciFunction> read_pci_function(const SysfsTree& tree, const std::string& address);

/// RETURNS: the function that the device folder `path` is, or is part of: "/sys/class/net/eth0/
/// device". Nothing if it is on no PCI bus.
std::optional<PciFunction> pci_function_of(const SysfsTree& tree, const std::string& path);

/// RETURNS: every function on the bus, in the order of the addresses.
std::vector<PciFunction> list_pci_functions(const SysfsTree& tree);

/// RETURNS: those of one vendor, in the order of the addresses; of the others little is read.
std::vector<PciFunction> pci_functions_of_vendor(const SysfsTree& tree, int64_t vendor);

/// RETURNS: whether the bus counts `one` before `two`.
bool in_pci_order(const PciFunction& one, const PciFunction& two);

/// RETURNS: the way between two devices over PCIe: its kind by their places, its speed that of the
/// slower one. REQUIRES: first < second.
Link pcie_link(int32_t first, int32_t second, const PciFunction& one, const PciFunction& two);

/// RETURNS: the links of all pairs, the functions being devices 0, 1, ...
std::vector<Link> pcie_links(const std::vector<PciFunction>& functions);

/// RETURNS: what Device::numa_node says of the function: 0 where the kernel knows none.
int32_t numa_node_of(const PciFunction& function);

}  // namespace keiko
