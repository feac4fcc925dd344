// Devices of a machine without accelerators: "cpu slots", virtual accelerators that make
// everything work on a laptop. Each slot stands for an equal share of the cores and is a device
// like any other, with a UUID, a memory size, a place in the NUMA layout, and links by a map that
// the user may give. Called from one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "ports/devices.h"

namespace keiko {

struct CpuDevicesOptions {
  /// How many slots; 0: one per core that this process may use.
  int32_t count = 0;
  /// Of each slot; 0: an equal share of the machine's memory.
  Bytes memory;
  /// "none", "ring", "full", or "first-second:kind:MB/s" joined by commas, for example
  /// "0-1:nvlink:50000,2-3:nvlink:50000". Kinds are system, numa, pcie, nvlink, xgmi and shared.
  std::string links = "none";
  /// What makes the UUIDs this node's own; empty: the machine's id. Agents that share a machine
  /// must say who they are, and say the same after a restart.
  std::string instance;
  /// Where the kernel tells of itself; tests move them.
  std::string proc_root = "/proc";
  std::string sys_root = "/sys";                    ///< for the NUMA layout
  std::string machine_id_file = "/etc/machine-id";  ///< read if no instance is given
};

/// Reads a link map for `count` devices. RETURNS: kInvalidArgument naming the piece that is wrong;
/// links in order of their pair.
Result<std::vector<Link>> parse_links(std::string_view text, int32_t count);

class CpuDevices : public Devices {
 public:
  explicit CpuDevices(CpuDevicesOptions options) : options_(std::move(options)) {}

  /// RETURNS: kInvalidArgument for a link map or a count that makes no sense.
  Result<Inventory> fingerprint() override;

  /// KEIKO_VISIBLE_DEVICES, empty for a worker without devices.
  Result<std::map<std::string, std::string>> visibility(
      const std::vector<std::string>& uuids) override;

  /// "utilisation_ratio" of the slot's cores since the last call (absent in the first), and of the
  /// whole machine "memory_available_bytes".
  Result<std::vector<DeviceStats>> stats() override;

  /// Nobody: a slot is a share of the cores, which no process can hold after its end.
  Result<std::vector<DeviceProcess>> processes(const std::string& uuid) override;

  /// None: the kernel tells of no core that went wrong.
  Result<std::vector<DeviceFault>> faults() override { return std::vector<DeviceFault>{}; }

 private:
  struct CoreTimes {
    int64_t busy = 0;
    int64_t total = 0;
  };
  std::vector<int32_t> cores() const;
  std::vector<int32_t> cores_of_slot(const std::vector<int32_t>& cores, int32_t slot,
                                     int32_t count) const;
  int32_t count(const std::vector<int32_t>& cores) const;
  std::map<int32_t, int32_t> numa_nodes() const;
  std::map<int32_t, CoreTimes> core_times() const;
  int64_t memory_line_bytes(std::string_view name) const;

  CpuDevicesOptions options_;
  std::map<int32_t, CoreTimes> last_times_;
};

}  // namespace keiko
