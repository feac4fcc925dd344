#include "agent/metrics/device_readings.h"

#include <utility>

namespace keiko::agent {
namespace {

/// A MIG layout may change while no device is lost; looking costs more than reading.
constexpr Duration kFindEvery = minutes(1);
constexpr Duration kRest = seconds(10);

}  // namespace

Result<std::vector<Reading>> DeviceReadings::read() {
  if (clock_->now() < rest_until_) return std::vector<Reading>{};
  Result<std::vector<Reading>> readings = read_open();
  if (!readings.ok()) rest();
  return readings;
}

Done DeviceReadings::open() {
  if (!driver_) {
    driver_ = TRY(make_());
    found_at_ = Time{};
  }
  const Time now = clock_->now();
  if (found_at_ != Time{} && now - found_at_ < kFindEvery) return done();
  Inventory inventory = TRY(driver_->fingerprint());
  found_at_ = now;
  const std::lock_guard lock(mutex_);
  // One that is lost keeps its place, or its last XID would go with it.
  for (Device& lost : devices_) {
    bool here = false;
    for (const Device& device : inventory.devices) here = here || device.uuid == lost.uuid;
    if (!here) inventory.devices.push_back(std::move(lost));
  }
  devices_ = std::move(inventory.devices);
  return done();
}

Result<std::vector<Reading>> DeviceReadings::read_open() {
  TRY(open());
  std::vector<Reading> readings;
  for (DeviceStats& stats : TRY(driver_->stats())) {
    if (stats.values.empty()) continue;
    readings.push_back({{SubjectKind::kDevice, stats.uuid}, std::move(stats.values)});
  }
  if (take_faults()) rest();
  return readings;
}

/// RETURNS: whether a device is lost.
bool DeviceReadings::take_faults() {
  const Result<std::vector<DeviceFault>> faults = driver_->faults();
  if (!faults.ok()) return false;  // those who judge health say so
  bool lost = false;
  const std::lock_guard lock(mutex_);
  for (const DeviceFault& fault : *faults) {
    lost = lost || fault.kind == FaultKind::kLost;
    if (fault.kind != FaultKind::kXid) continue;
    telemetry::XidRecord& xids = xids_[fault.uuid];
    xids.last = fault.code;
    xids.last_text = fault.text;
    ++xids.counts[fault.code];
  }
  return lost;
}

void DeviceReadings::rest() {
  driver_.reset();
  rest_until_ = clock_->now() + kRest;
}

std::vector<Device> DeviceReadings::devices() const {
  const std::lock_guard lock(mutex_);
  return devices_;
}

std::map<std::string, telemetry::XidRecord> DeviceReadings::xids() const {
  const std::lock_guard lock(mutex_);
  return xids_;
}

}  // namespace keiko::agent
