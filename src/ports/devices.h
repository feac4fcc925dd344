// Port Devices: finds the accelerators of this machine and the links between them.
//
// Three verbs after Nomad's device plugins. A driver never blocks for long and never throws; what
// a vendor library cannot tell is left empty, never guessed. Called from the agent's loop thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/device.h"

namespace keiko {

/// A reading of one device; what the device cannot tell is absent.
struct DeviceStats {
  std::string uuid;
  std::map<std::string, double> values;  ///< "memory_used_bytes", "utilisation_ratio", ...
};

class Devices {
 public:
  virtual ~Devices() = default;

  /// RETURNS: what is there now, devices in PCI order and counted from 0; equal hardware gives
  /// equal answers, UUIDs included, over restarts.
  virtual Result<Inventory> fingerprint() = 0;

  /// RETURNS: the environment that makes exactly these devices visible to a worker, in index order
  /// (CUDA_VISIBLE_DEVICES by UUID and so on). kNotFound names a device that is not here.
  virtual Result<std::map<std::string, std::string>> visibility(
      const std::vector<std::string>& uuids) = 0;

  /// RETURNS: current readings of every device.
  virtual Result<std::vector<DeviceStats>> stats() = 0;
};

/// RETURNS: `uuids` joined by commas in the inventory's index order, which is what a visibility
/// variable carries; kNotFound naming the first one that is not there.
Result<std::string> uuids_in_index_order(const Inventory& inventory,
                                         const std::vector<std::string>& uuids);

}  // namespace keiko
