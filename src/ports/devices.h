// Port Devices: finds the accelerators of this machine and the links between them.
//
// Three verbs after Nomad's device plugins and two for health: who holds a device, what went wrong
// with it. A driver never blocks for long and never throws; what a vendor library cannot tell is
// left empty, never guessed. Called from the agent's loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/device.h"

namespace keiko {

/// A reading of one device; what the device cannot tell is absent.
struct DeviceStats {
  std::string uuid;
  std::map<std::string, double> values;  ///< "memory_used_bytes", "utilisation_ratio", ...
};

/// A process of this machine that has a device open.
struct DeviceProcess {
  int64_t pid = 0;
  std::optional<Bytes> memory;  ///< it holds on the device; absent if the vendor cannot tell
  /// Share of the device's time that it used lately, 0 to 1; absent if the vendor cannot tell.
  std::optional<double> busy = {};

  friend bool operator==(const DeviceProcess&, const DeviceProcess&) = default;
};

enum class FaultKind {
  kXid,   ///< an error event of NVIDIA's catalogue; the code is the XID
  kEcc,   ///< memory returned wrong bits that could not be corrected
  kLost,  ///< it was here and no longer answers
};

/// RETURNS: "xid", "ecc" or "lost".
std::string to_text(FaultKind kind);

/// Something that went wrong with a device.
struct DeviceFault {
  std::string uuid;  ///< the device; or the Device::parent_uuid, if all of its slices are meant
  FaultKind kind = FaultKind::kXid;
  int64_t code = 0;  ///< the vendor's number; 0 if it has none
  WallTime at;       ///< when the driver learnt of it
  std::string text;  ///< one sentence for a person
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

  /// RETURNS: who holds the device now, by pid, each once. kNotFound if it is not here;
  /// kUnimplemented if nobody can tell, so that "nobody" is never a guess.
  virtual Result<std::vector<DeviceProcess>> processes(const std::string& uuid) = 0;

  /// RETURNS: what went wrong since the last call, oldest first; each fault is told once. A device
  /// that stays away is one fault; one that came back and left again is another.
  virtual Result<std::vector<DeviceFault>> faults() = 0;
};

/// RETURNS: kNotFound naming the device, if the inventory has none of this UUID.
Done check_device_here(const Inventory& inventory, const std::string& uuid);

/// RETURNS: `uuids` joined by commas in the inventory's index order, which is what a visibility
/// variable carries; kNotFound naming the first one that is not there.
Result<std::string> uuids_in_index_order(const Inventory& inventory,
                                         const std::vector<std::string>& uuids);

}  // namespace keiko
