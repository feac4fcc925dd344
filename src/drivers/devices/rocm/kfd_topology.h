// KfdTopology: the compute nodes that AMD's kernel driver lists in /sys/class/kfd/kfd/topology, as
// <linux/kfd_sysfs.h> has them. A plain value; reading it takes some hundred small files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "drivers/sysfs/sysfs_tree.h"

namespace keiko {

/// The kinds of links that we tell apart; others are links all the same.
constexpr int64_t kKfdPcie = 2;
constexpr int64_t kKfdXgmi = 11;

/// A link from one node to another, as the node at its beginning tells of it.
struct KfdLink {
  int64_t kind = 0;             ///< kKfdPcie, kKfdXgmi
  int64_t to = -1;              ///< the node at its end
  int64_t weight = 0;           ///< 0: not told; less is nearer
  int64_t megabytes_per_s = 0;  ///< at best; 0: not told
};

/// A node: the CPUs of a NUMA node (gpu_id 0), or a GPU, or a partition of one.
struct KfdNode {
  int64_t number = 0;  ///< its place in the topology
  int64_t gpu_id = 0;
  std::string name;    ///< "aqua_vanjaram"; the kernel's, no product name
  std::map<std::string, uint64_t> properties;
  int64_t memory_bytes = 0;  ///< of the device's own memory; 0: not told
  std::vector<KfdLink> links;

  bool is_gpu() const { return gpu_id != 0; }
  /// RETURNS: a property, or `fallback` where the kernel does not tell it.
  uint64_t property(const std::string& name, uint64_t fallback = 0) const;
};

struct KfdTopology {
  int64_t generation = 0;
  std::vector<KfdNode> nodes;  ///< by number
};

/// Reads the nodes between two equal readings of the generation, so that they belong together.
/// RETURNS: no nodes on a machine without the driver; kUnavailable if it never stands still.
Result<KfdTopology> read_kfd_topology(const SysfsTree& tree);

/// RETURNS: the PCI address in "location_id" and "domain"; empty if the node tells none.
std::string pci_address_of(const KfdNode& node);

}  // namespace keiko
