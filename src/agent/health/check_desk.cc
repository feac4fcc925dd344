#include "agent/health/check_desk.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace keiko::agent {
namespace {

std::vector<health::HealthDevice> devices_of(const NodeSpec& spec) {
  std::vector<health::HealthDevice> devices;
  for (const Device& device : spec.devices) {
    devices.push_back({device.uuid, device.pci_address, device.parent_uuid, -1});
  }
  return devices;
}

std::string failed_text(const CheckOutcome& outcome) {
  const std::string whose = outcome.uuid.empty() ? "" : " of device " + outcome.uuid;
  return "preflight check " + outcome.check + whose + " failed: " + outcome.text;
}

}  // namespace

CheckDesk::CheckDesk(CheckParts parts, health::CheckOptions options, const NodeSpec& spec,
                     Time now)
    : parts_(std::move(parts)),
      spec_(spec),
      plan_(options, spec.name, devices_of(spec), now),
      preflight_lane_(std::make_unique<CheckLane>(parts_.make(), teller(), false)),
      background_lane_(std::make_unique<CheckLane>(parts_.make(), teller(), true)) {}

CheckLane::Tell CheckDesk::teller() {
  return [this](CheckLane::Result result) {
    {
      const std::lock_guard lock(mutex_);
      results_.push_back(std::move(result));
    }
    parts_.wake();
  };
}

void CheckDesk::hold(node::Spawn spawn) {
  CheckOrder order;
  order.kind = CheckKind::kPreflight;
  order.machine = true;
  order.devices = spawn.launch.devices;
  order.links = spec_.links;
  break_off(order.devices);
  held_[next_ticket_] = std::move(spawn);
  preflight_lane_->start(next_ticket_++, std::move(order));
}

/// A check of a device ends when a worker wants the device.
void CheckDesk::break_off(const std::vector<Device>& devices) {
  if (!plan_.running()) return;
  const std::vector<std::string>& tested = plan_.running()->devices;
  const bool shared = std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
    return std::find(tested.begin(), tested.end(), device.uuid) != tested.end();
  });
  if (shared) background_lane_->cancel(background_);
}

bool CheckDesk::drop(const WorkerKey& key) {
  for (auto held = held_.begin(); held != held_.end(); ++held) {
    if (held->second.launch.key != key) continue;
    preflight_lane_->cancel(held->first);
    held_.erase(held);
    return true;
  }
  return false;
}

std::vector<CheckDesk::Ready> CheckDesk::take(Time now) {
  std::vector<CheckLane::Result> results;
  {
    const std::lock_guard lock(mutex_);
    results.swap(results_);
  }
  std::vector<Ready> ready;
  for (const CheckLane::Result& result : results) {
    if (result.ticket == background_) take_background(result, now);
    else take_preflight(result, now, ready);
  }
  return ready;
}

void CheckDesk::take_preflight(const CheckLane::Result& result, Time now,
                               std::vector<Ready>& ready) {
  const auto held = held_.find(result.ticket);
  if (held == held_.end()) return;  // dropped
  observe({{spec_.name, HealthSubjectKind::kNode, {}}, CheckKind::kPreflight, now, spec_.boot_id},
          result.outcomes);
  Ready one{std::move(held->second), {}};
  held_.erase(held);
  if (const CheckOutcome* const bad = health::forbids_work(result.outcomes)) {
    one.why_not = failed_text(*bad);
  }
  ready.push_back(std::move(one));
}

void CheckDesk::take_background(const CheckLane::Result& result, Time now) {
  background_ = 0;
  if (!plan_.running()) return;
  const health::CheckWanted wanted = *plan_.running();
  if (result.broken_off) return plan_.abandoned();
  const bool proved = health::has_proved_itself(result.outcomes);
  plan_.finished(proved, now);
  const std::string left = health::not_covered(result.outcomes);
  log_info("checked", "kind=" + to_text(wanted.kind) + " subject=" +
                          quote_text(to_text(wanted.subject)) + " passed=" +
                          (proved ? "yes" : "no") + (left.empty() ? "" : " " + quote_text(left)));
  observe({wanted.subject, wanted.kind, now, spec_.boot_id}, result.outcomes);
}

void CheckDesk::observe(const health::CheckedSubject& checked,
                        const std::vector<CheckOutcome>& outcomes) {
  for (const CheckOutcome& one : outcomes) {
    const bool bad = one.verdict != CheckVerdict::kOk && one.verdict != CheckVerdict::kNotCovered;
    if (!bad) continue;
    log_info("check_" + to_text(one.verdict),
             "kind=" + to_text(checked.kind) + " check=" + one.check + " device=" + one.uuid +
                 " found=" + quote_text(one.text));
  }
  parts_.health.observe(health::observations_of(checked, outcomes));
}

void CheckDesk::look(Time now) {
  plan_.suspect(parts_.health.take_suspects());
  const auto wanted = plan_.next(now, parts_.health.state(), busy());
  if (!wanted) return;
  background_ = next_ticket_++;
  background_lane_->start(background_, order_of(*wanted));
}

CheckOrder CheckDesk::order_of(const health::CheckWanted& wanted) const {
  CheckOrder order;
  order.kind = wanted.kind;
  order.machine = wanted.subject.kind == HealthSubjectKind::kNode;
  for (const Device& device : spec_.devices) {
    const bool meant = std::find(wanted.devices.begin(), wanted.devices.end(), device.uuid) !=
                       wanted.devices.end();
    if (meant) order.devices.push_back(device);
  }
  order.links = spec_.links;
  return order;
}

/// RETURNS: the devices that workers have or are about to get.
std::set<std::string> CheckDesk::busy() const {
  std::set<std::string> uuids = parts_.holders.all();
  for (const auto& [ticket, spawn] : held_) {
    for (const Device& device : spawn.launch.devices) uuids.insert(device.uuid);
  }
  return uuids;
}

}  // namespace keiko::agent
