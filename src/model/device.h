// Devices and links as the scheduler sees them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"

namespace keiko {

/// One accelerator: a whole GPU, a MIG slice, a TPU chip, a CPU slot. Identified by its UUID
/// everywhere; the index is its place in PCI order on its node.
struct Device {
  std::string uuid;
  std::string kind;    ///< "cpu", "h100", "a100": what a job may ask for
  std::string vendor;  ///< "cpu", "nvidia", "amd": decides which variables make it visible
  int32_t index = 0;
  int32_t numa_node = 0;
  Bytes memory;
  std::string pci_address;  ///< "0000:3b:00.0", empty for CPU slots
  std::string parent_uuid;  ///< the GPU that a MIG slice is part of; empty for a whole device
  std::string mig_profile;  ///< "1g.10gb", empty for a whole device
  std::string product;      ///< the vendor's full name, "NVIDIA H100 80GB HBM3"
  std::string architecture;  ///< "hopper", "ampere"; empty if the vendor names none
  std::string driver_version;
  int64_t host_megabytes_per_s = 0;  ///< per direction, what its slot gives in health; 0: unknown
  /// What a worker must be able to open to use it: "/dev/nvidia3" and its like.
  std::vector<std::string> files;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "uuid", s.uuid);
    v(2, "kind", s.kind);
    v(3, "vendor", s.vendor);
    v(4, "index", s.index);
    v(5, "numa_node", s.numa_node);
    v(6, "memory", s.memory);
    v(7, "pci_address", s.pci_address);
    v(8, "parent_uuid", s.parent_uuid);
    v(9, "mig_profile", s.mig_profile);
    v(10, "product", s.product);
    v(11, "architecture", s.architecture);
    v(12, "driver_version", s.driver_version);
    v(13, "host_megabytes_per_s", s.host_megabytes_per_s);
    v(14, "files", s.files);
  }
  friend bool operator==(const Device&, const Device&) = default;
};

/// How two devices of one node are connected, slowest first.
enum class LinkKind : int {
  kSystem = 0,
  kNuma = 1,
  kPcie = 2,
  kNvlink = 3,
  kXgmi = 4,
  kShared = 5
};
std::string to_text(LinkKind kind);

/// A connection between two devices of one node, by their indices, first < second.
struct Link {
  int32_t first = 0;
  int32_t second = 0;
  LinkKind kind = LinkKind::kSystem;
  int64_t megabytes_per_s = 0;  ///< per direction; measured where known, else the kind's class
  Duration latency;
  int64_t healthy_megabytes_per_s = 0;  ///< per direction, all its lanes up; 0: unknown

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "first", s.first);
    v(2, "second", s.second);
    v(3, "kind", s.kind);
    v(4, "megabytes_per_s", s.megabytes_per_s);
    v(5, "latency", s.latency);
    v(6, "healthy_megabytes_per_s", s.healthy_megabytes_per_s);
  }
  friend bool operator==(const Link&, const Link&) = default;
};

/// What one machine's device drivers found: devices in PCI order, links between them.
struct Inventory {
  std::vector<Device> devices;
  std::vector<Link> links;
};

}  // namespace keiko
