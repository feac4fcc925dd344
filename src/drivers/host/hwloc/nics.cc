#include "drivers/host/hwloc/nics.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/text.h"
#include "drivers/sysfs/pci_function.h"

namespace keiko {
namespace {

constexpr int64_t kInfinibandType = 32;  // ARPHRD_INFINIBAND of <linux/if_arp.h>
constexpr NumberRange kMegabits{1, 100'000'000};

/// One entry of /sys/class/net that stands for hardware.
struct Interface {
  std::string name;
  std::string folder;
  std::string pci_address;
  int64_t port = 0;  ///< of its function, from 0
  Nic nic;
  bool taken = false;  ///< a port of RDMA carries it
};

/// The kernel takes almost any bytes as a name; what is no plain text cannot be told to others.
bool is_plain(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_virtual(const std::string& folder) {
  return folder.empty() || folder.compare(0, 21, "/sys/devices/virtual/") == 0;
}

/// A virtual function that this machine itself made; in a guest it is the guest's own NIC.
bool is_virtual_function(const SysfsTree& tree, const PciFunction& function) {
  return tree.exists(function.folder + "/physfn");
}

/// "pf0vf3" and "pf0sf1" are the switch's ends of others' ports.
bool is_representor(const SysfsTree& tree, const std::string& folder) {
  const std::string port = tree.text(folder + "/phys_port_name").value_or("");
  const size_t digits = port.find_first_not_of("0123456789", 2);
  if (port.compare(0, 2, "pf") != 0 || digits == std::string::npos) return false;
  return port.compare(digits, 2, "vf") == 0 || port.compare(digits, 2, "sf") == 0;
}

bool is_up(const SysfsTree& tree, const std::string& folder) {
  const std::string state = tree.text(folder + "/operstate").value_or("");
  if (state != "unknown") return state == "up";
  return tree.number(folder + "/carrier", {0, 1}).value_or(0) == 1;
}

/// What the interface's own folder tells of it.
Nic read_interface(const SysfsTree& tree, const std::string& name, const std::string& folder) {
  Nic nic;
  nic.name = name;
  nic.interface = name;
  nic.up = is_up(tree, folder);
  if (nic.up) nic.megabits_per_s = tree.number(folder + "/speed", kMegabits).value_or(0);
  if (tree.number(folder + "/type") == kInfinibandType) nic.kind = NicKind::kInfiniband;
  return nic;
}

void place(const std::optional<PciFunction>& function, Nic& nic) {
  if (!function) return;
  nic.pci_address = function->address;
  nic.numa_node = function->place.numa_node;
}

std::vector<Interface> read_interfaces(const SysfsTree& tree) {
  std::vector<Interface> interfaces;
  for (const std::string& name : tree.names("/sys/class/net")) {
    const std::string folder = tree.resolved("/sys/class/net/" + name);
    if (!is_plain(name) || is_virtual(folder) || !tree.exists(folder + "/device")) continue;
    const auto function = pci_function_of(tree, folder);
    if (function && is_virtual_function(tree, *function)) continue;
    if (is_representor(tree, folder)) continue;
    Interface interface{name, folder, {}, 0, read_interface(tree, name, folder)};
    place(function, interface.nic);
    interface.pci_address = interface.nic.pci_address;
    interface.port = tree.number(folder + "/dev_port", {0, 255}).value_or(0);
    interfaces.push_back(std::move(interface));
  }
  return interfaces;
}

NicKind rdma_kind(const SysfsTree& tree, const std::string& device, const std::string& port) {
  const std::string layer = tree.text(port + "/link_layer").value_or("");
  const bool iwarp = tree.text(device + "/node_type").value_or("").compare(0, 2, "4:") == 0;
  if (layer == "InfiniBand") return NicKind::kInfiniband;
  return layer == "Ethernet" && !iwarp ? NicKind::kRoce : NicKind::kRdma;
}

/// "400 Gb/sec (4X NDR)" as 400000; 0 for anything else.
int64_t megabits_of_rate(const std::string& text) {
  double gigabits = 0;
  const size_t read = scan_number(text, gigabits);
  const bool whole = read > 0 && text.compare(read, 7, " Gb/sec") == 0;
  if (!whole || gigabits > 100'000) return 0;
  return std::llround(gigabits * 1000);
}

/// The first GID is the subnet's prefix and the port's GUID; an InfiniBand fabric gives both.
void read_fabric(const SysfsTree& tree, const std::string& port, Nic& nic) {
  const std::string gid = tree.text(port + "/gids/0").value_or("");
  constexpr size_t kHalf = 19;  // "fe80:0000:0000:0000"
  const bool whole = gid.size() == 2 * kHalf + 1 && gid[kHalf] == ':' &&
                     gid.find_first_not_of("0123456789abcdef:") == std::string::npos;
  if (whole && gid.find_first_not_of("0:", kHalf) != std::string::npos) {
    nic.subnet = gid.substr(0, kHalf);
    nic.port_guid = gid.substr(kHalf + 1);
  }
  const auto lid = tree.number(port + "/sm_lid", {0, 0xffff});
  nic.subnet_lid = static_cast<int32_t>(lid.value_or(0));
}

/// One port of an RDMA device; its interface is that of the same port of the same function.
Nic read_port(const SysfsTree& tree, const std::string& device, const std::string& number,
              std::vector<Interface>& interfaces) {
  const std::string port = device + "/ports/" + number;
  Nic nic;
  nic.kind = rdma_kind(tree, device, port);
  place(pci_function_of(tree, device), nic);
  nic.up = tree.text(port + "/state").value_or("").compare(0, 2, "4:") == 0;
  // A port that is down tells the rate it would begin with.
  if (nic.up) nic.megabits_per_s = megabits_of_rate(tree.text(port + "/rate").value_or(""));
  if (nic.kind == NicKind::kInfiniband) read_fabric(tree, port, nic);
  for (Interface& interface : interfaces) {
    const bool same = !nic.pci_address.empty() && interface.pci_address == nic.pci_address &&
                      std::to_string(interface.port + 1) == number;
    if (!same || interface.taken) continue;
    interface.taken = true;
    nic.interface = interface.name;
    break;
  }
  return nic;
}

void add_rdma(const SysfsTree& tree, std::vector<Interface>& interfaces, std::vector<Nic>& nics) {
  for (const std::string& name : tree.names("/sys/class/infiniband")) {
    const std::string device = tree.resolved("/sys/class/infiniband/" + name);
    if (!is_plain(name) || is_virtual(device)) continue;
    const auto function = pci_function_of(tree, device);
    if (function && is_virtual_function(tree, *function)) continue;
    const std::vector<std::string> ports = tree.names(device + "/ports");
    for (const std::string& port : ports) {
      Nic nic = read_port(tree, device, port, interfaces);
      nic.name = ports.size() == 1 ? name : name + ":" + port;
      nics.push_back(std::move(nic));
    }
  }
}

/// Those on no bus stand last.
bool in_bus_order(const Nic& one, const Nic& two) {
  PciAddress first;
  PciAddress second;
  const bool one_known = parse_pci_address(one.pci_address, first);
  const bool two_known = parse_pci_address(two.pci_address, second);
  return one_known && two_known ? first < second : one_known && !two_known;
}

void add_bonds(const SysfsTree& tree, std::vector<Nic>& nics) {
  const size_t ports = nics.size();
  for (const std::string& name : tree.names("/sys/class/net")) {
    const std::string folder = tree.resolved("/sys/class/net/" + name);
    const auto slaves = tree.text(folder + "/bonding/slaves");
    if (!is_plain(name) || folder.empty() || !slaves) continue;
    Nic bond = read_interface(tree, name, folder);
    const std::vector<std::string> joined = split(*slaves, ' ');
    for (size_t i = 0; i < ports; ++i) {
      const Nic& port = nics[i];
      if (std::find(joined.begin(), joined.end(), port.interface) == joined.end()) continue;
      const bool first = bond.members.empty();
      bond.numa_node = first || bond.numa_node == port.numa_node ? port.numa_node : -1;
      bond.members.push_back(port.interface);
    }
    if (!bond.members.empty()) nics.push_back(std::move(bond));
  }
}

}  // namespace

std::vector<Nic> read_nics(const SysfsTree& tree) {
  std::vector<Interface> interfaces = read_interfaces(tree);
  std::vector<Nic> nics;
  add_rdma(tree, interfaces, nics);
  for (const Interface& interface : interfaces) {
    if (!interface.taken) nics.push_back(interface.nic);
  }
  std::stable_sort(nics.begin(), nics.end(), in_bus_order);
  add_bonds(tree, nics);
  return nics;
}

}  // namespace keiko
