#include "agent/health/health_watch.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "core/health/log/kernel_line.h"
#include "core/health/policy/observation_rule.h"
#include "core/health/story.h"
#include "model/check.h"

namespace keiko::agent {
namespace {

constexpr const char* kFile = "health";
/// Records of the kernel's log a second; a flood goes on with the next look.
constexpr size_t kMostRecords = 10'000;

health::HealthBrain stored_brain(const StateFolder& folder) {
  const Result<std::string> bytes = folder.load(kFile);
  if (!bytes.ok()) return health::HealthBrain();
  Result<health::HealthState> state = health::decode_health(*bytes);
  if (state.ok()) return health::HealthBrain(std::move(state).value());
  log_warn("health_forgotten", "path=" + folder.path() + "/" + kFile + " why=" +
                                   quote_text(state.error().message));
  return health::HealthBrain();
}

std::vector<health::HealthDevice> devices_of(const std::vector<Device>& devices) {
  std::vector<health::HealthDevice> found;
  for (const Device& device : devices) {
    found.push_back({device.uuid, device.pci_address, device.parent_uuid, -1});
  }
  return found;
}

ObservationKind kind_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kXid: return ObservationKind::kXid;
    case FaultKind::kEcc: return ObservationKind::kEccUncorrectable;
    case FaultKind::kLost: return ObservationKind::kDeviceLost;
  }
  return ObservationKind::kDeviceHang;
}

void append(std::vector<Observation>& all, std::vector<Observation> more) {
  for (Observation& one : more) all.push_back(std::move(one));
}

}  // namespace

HealthWatch::HealthWatch(HealthSources sources, const NodeSpec& spec, Time now)
    : sources_(std::move(sources)),
      node_(spec.name),
      boot_(spec.boot_id),
      brain_(stored_brain(sources_.folder)) {
  for (const Device& device : spec.devices) uuids_.insert(device.uuid);
  step(now, health::DevicesFound{node_, devices_of(spec.devices), boot_});
  find_lost(now);
  report_ = health_report_of(brain_.state(), node_, uuids_);
}

/// A device may go or come back while no agent runs, or under another agent than the one that lost
/// it.
void HealthWatch::find_lost(Time now) {
  const auto node = brain_.state().nodes.find(node_);
  CHECK(node != brain_.state().nodes.end());
  for (const auto& [subject, health] : node->second.subjects) {
    for (const auto& [id, condition] : health.conditions) {
      if (condition.remedy != health::Remedy::kReboot) continue;
      const std::vector<health::Sighting>& seen = brain_.state().open.at(id).sightings;
      const bool lost = std::any_of(seen.begin(), seen.end(), [](const health::Sighting& one) {
        return one.kind == ObservationKind::kDeviceLost;
      });
      if (lost) lost_.insert(subject.name);
    }
  }
  for (const std::string& uuid : sources_.missing) {
    if (!lost_.insert(uuid).second) continue;
    Observation one = about_device(uuid, now);
    one.kind = ObservationKind::kDeviceLost;
    one.text = "it did not answer when the agent started; it did earlier in this boot";
    pending_.push_back(std::move(one));
  }
}

void HealthWatch::observe(std::vector<Observation> seen) {
  for (Observation& one : seen) {
    const bool passed = one.kind == ObservationKind::kCheckResult && one.code == 0;
    if (passed && !is_open(one.subject, health::cause_of(one.kind, 0, one.detail))) continue;
    pending_.push_back(std::move(one));
  }
}

bool HealthWatch::miss(const std::vector<Device>& devices, Time now) {
  const Result<Inventory> inventory = sources_.devices.fingerprint();
  if (!inventory.ok()) return false;
  std::set<std::string> here;
  for (const Device& device : inventory->devices) here.insert(device.uuid);
  bool missing = false;
  for (const Device& device : devices) {
    if (here.contains(device.uuid)) continue;
    missing = true;
    // As the check of that name would say it: it ends once a re-test finds the device.
    Observation one = about_device(device.uuid, now);
    one.kind = ObservationKind::kCheckResult;
    one.code = static_cast<int64_t>(CheckVerdict::kCrit);
    one.detail = "present";
    one.text = "a worker was to start on it, and its driver does not list it";
    pending_.push_back(std::move(one));
  }
  return missing;
}

void HealthWatch::take_readings(const std::vector<Reading>& readings, Time now) {
  append(pending_, findings_.look(readings, {node_, boot_, now}));
}

bool HealthWatch::is_open(const HealthSubject& subject, const std::string& cause) const {
  const auto node = brain_.state().nodes.find(node_);
  if (node == brain_.state().nodes.end()) return false;
  const auto health = node->second.subjects.find(subject);
  if (health == node->second.subjects.end()) return false;
  return std::any_of(health->second.conditions.begin(), health->second.conditions.end(),
                     [&](const auto& one) { return one.second.cause == cause; });
}

Done HealthWatch::clear(const HealthSubject& subject, const std::string& reason, Time now) {
  const bool ill = std::any_of(
      report_.subjects.begin(), report_.subjects.end(), [&](const SubjectHealth& one) {
        const bool meant = subject.kind == HealthSubjectKind::kNode ||
                           (one.subject.kind == subject.kind && one.subject.name == subject.name);
        return meant && (one.quarantined || one.level != "healthy");
      });
  if (!ill) {
    return not_found(to_text(subject) + " has nothing to clear: nothing is wrong with it");
  }
  Observation one;
  one.subject = subject;
  one.kind = ObservationKind::kOperatorClear;
  one.source = ObservationSource::kOperator;
  one.at = now;
  one.boot = boot_;
  one.detail = reason;
  pending_.push_back(std::move(one));
  return done();
}

std::string HealthWatch::why_no_work(const std::vector<Device>& devices) const {
  std::vector<HealthSubject> subjects{{node_, HealthSubjectKind::kNode, {}}};
  for (const Device& device : devices) {
    subjects.push_back({node_, HealthSubjectKind::kDevice, device.uuid});
  }
  for (const HealthSubject& subject : subjects) {
    const health::HealthView view = health::view_of(brain_.state(), subject);
    if (view.quarantined) return to_text(subject) + " is in quarantine: " + view.sentence;
  }
  return {};
}

std::vector<std::string> HealthWatch::take_suspects() { return std::exchange(suspects_, {}); }

bool HealthWatch::look(Time now) {
  std::vector<Observation> batch = device_faults(now);
  append(batch, kernel_lines(now));
  append(batch, devices_back(now));
  append(batch, disk_news(now));
  append(batch, std::exchange(pending_, {}));
  bool acted = false;
  if (!batch.empty()) acted = step(now, health::Observed{std::move(batch)});
  acted = step(now, health::Wake{}) || acted;
  if (acted) store();
  HealthReport fresh = health_report_of(brain_.state(), node_, uuids_);
  fresh.drain = drain_;
  if (fresh == report_) return false;
  report_ = std::move(fresh);
  return true;
}

std::vector<Observation> HealthWatch::device_faults(Time now) {
  const Result<std::vector<DeviceFault>> faults = sources_.devices.faults();
  if (!faults.ok()) {
    if (!std::exchange(faults_failed_, true)) log_warn("faults_unread", faults.error().text());
    return {};
  }
  faults_failed_ = false;
  std::vector<Observation> seen;
  for (const DeviceFault& fault : *faults) {
    Observation one = about_device(fault.uuid, now);
    one.kind = kind_of(fault.kind);
    one.code = fault.code;
    one.text = fault.text;
    one.wall_ms = fault.at.ns / 1'000'000;
    if (fault.kind == FaultKind::kLost) lost_.insert(fault.uuid);
    seen.push_back(std::move(one));
  }
  return seen;
}

std::vector<Observation> HealthWatch::kernel_lines(Time now) {
  if (sources_.kernel_log == nullptr) return {};
  const Result<KernelLogBatch> batch = sources_.kernel_log->read(kMostRecords);
  if (!batch.ok()) {
    // Without the right to read it the drivers are all there is; that is no fault of the node.
    if (!std::exchange(log_failed_, true)) log_info("kernel_log_unread", batch.error().text());
    return {};
  }
  log_failed_ = false;
  const Time booted_at = now - nanoseconds(sources_.boot_us() * 1000);
  const health::LogPlace place{node_, boot_, booted_at};
  std::vector<Observation> seen;
  for (const KernelRecord& record : batch->records) {
    append(seen, health::read_kernel_record(record, place));
  }
  const uint64_t gap = batch->lost + batch->unreadable;
  if (gap > 0) seen.push_back(health::log_gap(place, gap, now));
  return seen;
}

/// A device that was lost is looked for until it is back.
std::vector<Observation> HealthWatch::devices_back(Time now) {
  if (lost_.empty()) return {};
  const Result<Inventory> inventory = sources_.devices.fingerprint();
  if (!inventory.ok()) return {};
  std::vector<Observation> seen;
  for (const Device& device : inventory->devices) {
    // A device that is split is lost as a whole and comes back by its slices.
    const std::string name = lost_.contains(device.uuid) ? device.uuid : device.parent_uuid;
    if (lost_.erase(name) == 0) continue;
    Observation one = about_device(name, now);
    one.kind = ObservationKind::kDeviceBack;
    one.text = "it answers again";
    seen.push_back(std::move(one));
  }
  return seen;
}

bool HealthWatch::is_disk_low() const {
  return is_open({node_, HealthSubjectKind::kNode, {}},
                 health::cause_of(ObservationKind::kDiskLow, 0, sources_.folder.path()));
}

std::vector<Observation> HealthWatch::disk_news(Time now) {
  if (!sources_.disk_room) return {};
  const Result<health::DiskRoom> room = sources_.disk_room();
  if (!room.ok()) {
    if (!std::exchange(disk_failed_, true)) log_warn("disk_room_unknown", room.error().text());
    return {};
  }
  disk_failed_ = false;
  const bool was_low = is_disk_low();
  const bool low = health::is_disk_low(*room, sources_.disk_floor, was_low);
  if (low == was_low) return {};
  Observation one;
  one.subject = {node_, HealthSubjectKind::kNode, {}};
  one.kind = low ? ObservationKind::kDiskLow : ObservationKind::kRecovered;
  one.code = low ? 0 : static_cast<int64_t>(ObservationKind::kDiskLow);
  one.at = now;
  one.boot = boot_;
  one.boot_us = sources_.boot_us();
  one.detail = sources_.folder.path();
  one.value = room->left.count;
  one.limit = low ? sources_.disk_floor.count : 0;
  one.text = low ? health::low_disk_text(*room, sources_.disk_floor, one.detail)
                 : to_text(room->left) + " are free at " + one.detail + " again";
  return {one};
}

Observation HealthWatch::about_device(const std::string& uuid, Time now) const {
  Observation one;
  one.subject = {node_, HealthSubjectKind::kDevice, uuid};
  one.source = ObservationSource::kVendorLibrary;
  one.at = now;
  one.boot = boot_;
  one.boot_us = sources_.boot_us();
  return one;
}

/// RETURNS: whether anything was decided.
bool HealthWatch::step(Time now, health::EventBody body) {
  bool acted = false;
  for (const health::Effect& effect : brain_.step({now, std::move(body)})) {
    if (effect.kind == health::EffectKind::kWakeAt) continue;  // looked at every second anyway
    acted = true;
    const bool of_node = effect.subject.kind == HealthSubjectKind::kNode;
    const bool of_device = effect.subject.kind == HealthSubjectKind::kDevice;
    const bool test = effect.kind == health::EffectKind::kAskRetest;
    // Re-tests that end something follow from the state; what is asked for beyond is a suspicion.
    if (test && of_device && effect.incident == 0) suspects_.push_back(effect.subject.name);
    if (effect.kind == health::EffectKind::kDrainNode) drain_ = true;
    if (effect.kind == health::EffectKind::kRelease && of_node) drain_ = false;
    const std::string text = "act=" + to_text(effect.kind) + " subject=" +
                             quote_text(to_text(effect.subject)) + " why=" +
                             quote_text(effect.text);
    if (effect.kind == health::EffectKind::kNote) log_debug("health", text);
    else log_info("health", text);
  }
  return acted;
}

void HealthWatch::store() {
  const Done stored = sources_.folder.store(kFile, health::encode_health(brain_.state()));
  if (!stored.ok() && !store_failed_) log_warn("health_not_stored", stored.error().text());
  store_failed_ = !stored.ok();
}

}  // namespace keiko::agent
