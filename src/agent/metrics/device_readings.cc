#include "agent/metrics/device_readings.h"

#include <algorithm>
#include <utility>

namespace keiko::agent {
namespace {

/// A MIG layout may change while no device is lost; looking costs more than reading.
constexpr Duration kFindEvery = minutes(1);
constexpr Duration kRest = seconds(10);
constexpr Duration kHoldersFresh = seconds(5);

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
    take_instance(stats.uuid, stats.values);
    if (stats.values.empty()) continue;
    readings.push_back({{SubjectKind::kDevice, stats.uuid}, std::move(stats.values)});
  }
  const bool lost = take_faults();
  if (!lost) read_holders();
  if (lost) rest();
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
    count_locked({telemetry::XidTeller::kLibrary, fault.uuid, fault.uuid, fault.code, fault.text,
                  {}});
  }
  return lost;
}

void DeviceReadings::rest() {
  driver_.reset();
  rest_until_ = clock_->now() + kRest;
}

telemetry::ExpositionTerms DeviceReadings::terms(const std::string& node) const {
  const std::lock_guard lock(mutex_);
  return {node, devices_, xids_.records(), gpu_instances_};
}

/// Both tellers' sightings in the order of the ledger's clock.
void DeviceReadings::count_locked(telemetry::XidSighting seen) {
  counted_at_ = std::max(counted_at_, clock_->now());
  seen.at = counted_at_;
  for (const Device& device : devices_) {
    const bool slice = device.uuid == seen.uuid && !device.parent_uuid.empty();
    if (slice) seen.gpu = device.parent_uuid;
  }
  xids_.put(seen);
}

void DeviceReadings::hear(const Observation& told) {
  const std::string& address = told.subject.name;
  telemetry::XidSighting seen{telemetry::XidTeller::kKernelLog, address, address, told.code,
                              told.text, {}};
  const std::lock_guard lock(mutex_);
  for (const Device& device : devices_) {
    if (device.pci_address != address) continue;
    const auto instance = gpu_instances_.find(device.uuid);
    const bool meant = instance != gpu_instances_.end() && instance->second == told.gpu_instance;
    seen.gpu = device.parent_uuid.empty() ? device.uuid : device.parent_uuid;
    seen.uuid = meant ? device.uuid : seen.gpu;
    if (meant) break;
  }
  count_locked(std::move(seen));
}

std::vector<DeviceProcess> DeviceReadings::holders() {
  const std::lock_guard lock(mutex_);
  asked_at_ = clock_->now();
  const bool fresh = held_at_ != Time{} && asked_at_ - held_at_ <= kHoldersFresh;
  return fresh ? holders_ : std::vector<DeviceProcess>{};
}

/// Other vendors' drivers look through all processes of the machine for this, which is no work for
/// every second.
void DeviceReadings::read_holders() {
  std::vector<std::string> uuids;
  {
    const std::lock_guard lock(mutex_);
    if (asked_at_ == Time{} || clock_->now() - asked_at_ > kHoldersFresh) return;
    for (const Device& device : devices_) {
      if (device.vendor == "nvidia") uuids.push_back(device.uuid);
    }
  }
  std::vector<DeviceProcess> found;
  for (const std::string& uuid : uuids) {
    const Result<std::vector<DeviceProcess>> processes = driver_->processes(uuid);
    if (processes.ok()) found.insert(found.end(), processes->begin(), processes->end());
  }
  const std::lock_guard lock(mutex_);
  holders_ = std::move(found);
  held_at_ = clock_->now();
}

/// The number of a slice's instance is a name of it, not a quantity.
void DeviceReadings::take_instance(const std::string& uuid, Values& values) {
  const auto instance = values.extract("gpu_instance");
  if (instance.empty()) return;
  const std::lock_guard lock(mutex_);
  gpu_instances_[uuid] = static_cast<int64_t>(instance.mapped());
}

}  // namespace keiko::agent
