// What a machine is beside its accelerators: NUMA nodes, packages, NICs, and where devices and NICs
// hang on its PCI bus. What the machine does not tell is left empty, never guessed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"

namespace keiko {

/// Memory and the cores next to it.
struct NumaNode {
  int32_t index = 0;     ///< as the kernel counts it
  int32_t package = -1;  ///< the socket it is part of; -1: none, several or unknown
  std::string cores;     ///< "0-15,32-47", hardware threads; empty: memory alone
  Bytes memory;
  /// The same threads by their core, "0-15 32-47": the first core is 0 and 32. A core with fewer
  /// threads stands behind those with more. Empty: a thread is a core, or nobody knows.
  std::string siblings = {};

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "index", s.index);
    v(2, "package", s.package);
    v(3, "cores", s.cores);
    v(4, "memory", s.memory);
    v(5, "siblings", s.siblings);
  }
  friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

/// What speaks over a NIC. kRoce is RDMA over Ethernet; kRdma an RDMA fabric of another kind.
enum class NicKind : int { kEthernet = 0, kInfiniband = 1, kRoce = 2, kRdma = 3 };
std::string to_text(NicKind kind);  ///< "ethernet", "infiniband", "roce", "rdma"

/// One network port of the machine, or a bond of several. Bridges and other interfaces that are
/// made of software are none.
struct Nic {
  std::string name;       ///< "mlx5_0" where RDMA reaches it, else its interface's; unique
  std::string interface;  ///< "ibp0"; empty if it has none
  NicKind kind = NicKind::kEthernet;
  std::string pci_address;  ///< empty for a bond, and where it is not on a PCI bus
  int32_t numa_node = -1;   ///< -1: unknown
  bool up = false;
  int64_t megabits_per_s = 0;  ///< 0: unknown, as most are while down
  std::string port_guid;       ///< "b83f:d203:0000:0156", of an InfiniBand port
  std::string subnet;          ///< "fe80:0000:0000:0000", the prefix that its fabric gave it
  int32_t subnet_lid = 0;      ///< of the subnet's manager: tells fabrics of one prefix apart
  std::vector<std::string> members;  ///< of a bond: the interfaces that it joins

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "name", s.name);
    v(2, "interface", s.interface);
    v(3, "kind", s.kind);
    v(4, "pci_address", s.pci_address);
    v(5, "numa_node", s.numa_node);
    v(6, "up", s.up);
    v(7, "megabits_per_s", s.megabits_per_s);
    v(8, "port_guid", s.port_guid);
    v(9, "subnet", s.subnet);
    v(10, "subnet_lid", s.subnet_lid);
    v(11, "members", s.members);
  }
  friend bool operator==(const Nic&, const Nic&) = default;
};

/// Where a function hangs on the PCI bus.
struct PciSlot {
  std::string path;        ///< "pci0000:37/0000:37:01.0/0000:3b:00.0", host bridge first
  int32_t numa_node = -1;  ///< -1: unknown

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "path", s.path);
    v(2, "numa_node", s.numa_node);
  }
  friend bool operator==(const PciSlot&, const PciSlot&) = default;
};

struct HostSpec {
  int32_t packages = 0;         ///< sockets; 0: unknown
  std::vector<NumaNode> numa;   ///< by index
  std::vector<Nic> nics;        ///< in the order of the bus, bonds last
  std::vector<PciSlot> slots;   ///< of accelerators and NICs, in the order of the bus

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "packages", s.packages);
    v(2, "numa", s.numa);
    v(3, "nics", s.nics);
    v(4, "slots", s.slots);
  }
  friend bool operator==(const HostSpec&, const HostSpec&) = default;
};

}  // namespace keiko
