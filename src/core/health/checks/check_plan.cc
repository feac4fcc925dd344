#include "core/health/checks/check_plan.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace keiko::health {
namespace {

/// Beyond it the pause is at its longest whatever the options are.
constexpr int32_t kMostDoublings = 20;

bool is_idle(const std::vector<std::string>& devices, const std::set<std::string>& busy) {
  return std::none_of(devices.begin(), devices.end(),
                      [&](const std::string& uuid) { return busy.contains(uuid); });
}

int32_t flaps_of(const SubjectState& health, const std::string& cause) {
  const auto past = health.history.find(cause);
  return past == health.history.end() ? 0 : past->second.flaps;
}

}  // namespace

CheckPlan::CheckPlan(CheckOptions options, std::string node, std::vector<HealthDevice> devices,
                     Time now)
    : options_(options),
      node_(std::move(node)),
      devices_(std::move(devices)),
      started_at_(now) {}

void CheckPlan::suspect(const std::vector<std::string>& uuids) {
  for (const std::string& uuid : uuids) {
    const HealthSubject subject{node_, HealthSubjectKind::kDevice, uuid};
    if (!members(subject).empty()) turns_[subject].suspect = true;
  }
}

Done CheckPlan::ask(const HealthSubject& subject) {
  const bool whole = subject.kind == HealthSubjectKind::kNode;
  if (!whole && members(subject).empty()) {
    return not_found(to_text(subject) + " is no device that can be tested");
  }
  turns_[subject].asked = true;
  return done();
}

std::optional<CheckWanted> CheckPlan::next(Time now, const HealthState& state,
                                           const std::set<std::string>& busy) {
  if (running_) return std::nullopt;
  running_ = reset(now, state, busy);
  if (!running_) running_ = retest(now, state, busy);
  if (!running_) running_ = other(now, busy);
  return running_;
}

void CheckPlan::finished(bool proved, Time now) {
  CHECK(running_.has_value());
  Turn& turn = turns_[running_->subject];
  if (running_->kind == CheckKind::kReset) {
    turn.resets = proved ? 0 : std::min(turn.resets + 1, kMostDoublings);
    turn.reset_at = now;
    return running_.reset();
  }
  if (running_->kind == CheckKind::kRetest) {
    turn.failures = proved ? 0 : std::min(turn.failures + 1, kMostDoublings);
  }
  turn.asked = false;
  turn.suspect = false;
  turn.tested_at = now;
  running_.reset();
}

void CheckPlan::abandoned() { running_.reset(); }

/// RETURNS: the devices that a subject means: itself, or all slices of it; none of the node.
std::vector<std::string> CheckPlan::members(const HealthSubject& subject) const {
  std::vector<std::string> found;
  if (subject.kind != HealthSubjectKind::kDevice) return found;
  for (const HealthDevice& device : devices_) {
    const bool meant = device.uuid == subject.name || device.parent_uuid == subject.name;
    if (meant) found.push_back(device.uuid);
  }
  return found;
}

/// RETURNS: the node, its devices, and the whole devices that its slices are part of.
std::vector<HealthSubject> CheckPlan::subjects() const {
  std::set<HealthSubject> all{{node_, HealthSubjectKind::kNode, {}}};
  for (const HealthDevice& device : devices_) {
    all.insert({node_, HealthSubjectKind::kDevice, device.uuid});
    if (device.parent_uuid.empty()) continue;
    all.insert({node_, HealthSubjectKind::kDevice, device.parent_uuid});
  }
  return {all.begin(), all.end()};
}

bool CheckPlan::is_due(const HealthSubject& subject, const HealthState& state, Time now) const {
  const auto found = turns_.find(subject);
  const Turn turn = found == turns_.end() ? Turn{} : found->second;
  if (turn.asked) return true;
  const auto node = state.nodes.find(node_);
  if (node == state.nodes.end()) return false;
  const auto health = node->second.subjects.find(subject);
  if (health == node->second.subjects.end()) return false;
  for (const auto& [id, condition] : health->second.conditions) {
    if ((condition.exits & kByRetest) == 0) continue;
    // What failed before this condition was there was another matter.
    const bool tested = turn.tested_at > condition.since;
    const int32_t doublings = std::min(
        (tested ? turn.failures : 0) + flaps_of(health->second, condition.cause), kMostDoublings);
    if (now >= (tested ? turn.tested_at : condition.since) + pause(doublings)) return true;
  }
  return false;
}

Duration CheckPlan::pause(int32_t doublings) const {
  return std::min(options_.retest_first * (int64_t{1} << doublings), options_.retest_most);
}

/// RETURNS: the reset of an idle device that wants one. At once, and after each that did not help
/// with the pauses of re-tests.
std::optional<CheckWanted> CheckPlan::reset(Time now, const HealthState& state,
                                            const std::set<std::string>& busy) const {
  const auto node = state.nodes.find(node_);
  if (!options_.can_reset || node == state.nodes.end()) return std::nullopt;
  for (const auto& [subject, health] : node->second.subjects) {
    std::vector<std::string> devices = members(subject);
    if (devices.empty() || !is_idle(devices, busy)) continue;
    const auto found = turns_.find(subject);
    const Turn turn = found == turns_.end() ? Turn{} : found->second;
    for (const auto& [id, condition] : health.conditions) {
      const bool wants =
          condition.remedy == Remedy::kReset || condition.remedy == Remedy::kDrainReset;
      const bool tried = turn.reset_at >= condition.since;
      if (!wants || (tried && now < turn.reset_at + pause(turn.resets))) continue;
      return CheckWanted{CheckKind::kReset, subject, std::move(devices)};
    }
  }
  return std::nullopt;
}

/// RETURNS: the re-test whose subject waited longest.
std::optional<CheckWanted> CheckPlan::retest(Time now, const HealthState& state,
                                             const std::set<std::string>& busy) {
  std::optional<CheckWanted> wanted;
  Time waited;
  for (const HealthSubject& subject : subjects()) {
    std::vector<std::string> devices = members(subject);
    if (!is_idle(devices, busy) || !is_due(subject, state, now)) continue;
    const Time since = turns_[subject].tested_at;
    if (wanted && waited <= since) continue;
    wanted = CheckWanted{CheckKind::kRetest, subject, std::move(devices)};
    waited = since;
  }
  return wanted;
}

/// RETURNS: the check of a suspect, else the periodic one that is most overdue.
std::optional<CheckWanted> CheckPlan::other(Time now, const std::set<std::string>& busy) {
  std::optional<CheckWanted> wanted;
  Time oldest;
  for (const HealthDevice& device : devices_) {
    if (busy.contains(device.uuid)) continue;
    const HealthSubject subject{node_, HealthSubjectKind::kDevice, device.uuid};
    Turn& turn = turns_[subject];
    const bool rested =
        turn.tested_at == Time{} || now >= turn.tested_at + options_.suspect_pause;
    if (turn.suspect && rested) {
      return CheckWanted{CheckKind::kAfterFailure, subject, {device.uuid}};
    }
    const Time since = std::max(turn.tested_at, started_at_);
    const bool due = options_.periodic_every.ns > 0 && now >= since + options_.periodic_every;
    if (!due || (wanted && oldest <= since)) continue;
    wanted = CheckWanted{CheckKind::kPeriodic, subject, {device.uuid}};
    oldest = since;
  }
  return wanted;
}

}  // namespace keiko::health
