// FakeDevices: accelerators by script. A test sets what is there, breaks it, takes devices away and
// brings them back. For one thread; deterministic.
#pragma once

#include <utility>

#include "ports/devices.h"

namespace keiko {

class FakeDevices : public Devices {
 public:
  explicit FakeDevices(Inventory inventory) : inventory_(std::move(inventory)) {}

  Result<Inventory> fingerprint() override;
  Result<std::map<std::string, std::string>> visibility(
      const std::vector<std::string>& uuids) override;
  Result<std::vector<DeviceStats>> stats() override;
  Result<std::vector<DeviceProcess>> processes(const std::string& uuid) override;
  Result<std::vector<DeviceFault>> faults() override;

  /// What the next fingerprint finds; a device may be lost or come back.
  void set_inventory(Inventory inventory) { inventory_ = std::move(inventory); }
  /// The next reading of one device; without it a device reads "utilisation_ratio" 0.
  void set_stats(DeviceStats stats) { stats_[stats.uuid] = std::move(stats); }
  /// Who holds a device from now on; without it nobody does.
  void set_processes(const std::string& uuid, std::vector<DeviceProcess> processes) {
    processes_[uuid] = std::move(processes);
  }
  /// The next call of faults() tells of it.
  void add_fault(DeviceFault fault) { faults_.push_back(std::move(fault)); }
  /// Every verb fails with this error until it is called with a code of kOk.
  void fail_with(Error error) { error_ = std::move(error); }

 private:
  Inventory inventory_;
  std::map<std::string, DeviceStats> stats_;
  std::map<std::string, std::vector<DeviceProcess>> processes_;
  std::vector<DeviceFault> faults_;
  Error error_{Code::kOk, {}, {}};
};

/// RETURNS: `count` devices named "fake-0"... of `memory` each, without links.
Inventory fake_inventory(int32_t count, Bytes memory = gibibytes(16));

}  // namespace keiko
