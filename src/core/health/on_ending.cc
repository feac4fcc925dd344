// Endings: a reset, a reboot, a test that passed, a carrier that is back, an operator's word. What
// was quarantined comes back on probation.
#include <algorithm>

#include "core/health/health_steps.h"

namespace keiko::health {
namespace {

using Kind = ObservationKind;

std::string said(const Observation& seen) {
  std::string words = find_rule(seen.kind)->words;
  const bool has_more = seen.kind == Kind::kOperatorClear || seen.kind == Kind::kRetestPassed;
  if (has_more && !seen.detail.empty()) return words + ": " + seen.detail;
  return words;
}

/// What the history learns of how a cause ended.
void remember(Recurrence& past, Exit exit, Time at) {
  if (exit == kByReset) ++past.resets;
  if (exit == kByReboot) ++past.reboots;
  // A person has looked at it; the count begins again.
  if (exit == kByOperator) past.resets = past.reboots = past.flaps = 0;
  past.ended_at = std::max(past.ended_at, at);
}

}  // namespace

void HealthSteps::ending(const Observation& seen) {
  switch (seen.kind) {
    case Kind::kReboot:
      // With a boot id the door has seen to it; without one it is believed.
      if (seen.boot.empty()) reboot(seen.subject.node, {}, seen.at);
      return;
    case Kind::kRetestPassed: return end_all(seen.subject, {kByRetest, {}, seen.at, said(seen)});
    case Kind::kDeviceReset: return end_all(seen.subject, {kByReset, {}, seen.at, said(seen)});
    case Kind::kOperatorClear: return end_all(seen.subject, {kByOperator, {}, seen.at, said(seen)});
    case Kind::kCheckResult:
    case Kind::kDiskLow:
    case Kind::kLinkSlow:
      return end_all(seen.subject, {kByRecovery, cause_of(seen.kind, 0, seen.detail), seen.at,
                                    "it is within its limits again"});
    case Kind::kRecovered:
      return end_all(seen.subject,
                     {kByRecovery, cause_of(static_cast<Kind>(seen.code), 0, seen.detail), seen.at,
                      said(seen)});
    case Kind::kLinkUp: return carrier_back(seen);
    case Kind::kDeviceBack: return device_back(seen);
    default: return;
  }
}

/// Ends everything that a reboot cures; what was opened after it is of the new boot and stays.
void HealthSteps::reboot(const std::string& node_name, const std::string& boot, Time at) {
  NodeHealth& node = state_.nodes[node_name];
  if (!boot.empty()) {
    node.boot = boot;
    node.seen = {};
  }
  touched_.insert(node_name);
  std::vector<HealthSubject> known;
  for (const auto& [subject, health] : node.subjects) known.push_back(subject);
  for (const HealthSubject& subject : known) {
    end_all(subject, {kByReboot, {}, at, "the node was rebooted"});
  }
}

/// An InfiniBand link that fell once is not trusted yet: it counts a while longer.
void HealthSteps::carrier_back(const Observation& seen) {
  SubjectState& health = health_of(seen.subject);
  const std::string cause = to_text(Kind::kLinkDown);
  for (auto& [id, condition] : health.conditions) {
    if (condition.cause != cause || (condition.exits & kByTimer) == 0) continue;
    if (condition.ends_at > Time{}) continue;
    const int64_t times = int64_t{1} << health.history[cause].flaps;
    condition.ends_at = seen.at + state_.options.link_sticky * times;
    note(state_.open.at(id), seen.at, "back; watched until " + to_text(condition.ends_at));
  }
}

/// A device that was gone has to prove itself before it gets work again.
void HealthSteps::device_back(const Observation& seen) {
  SubjectState& health = health_of(seen.subject);
  std::vector<uint64_t> returned;
  for (const auto& [id, condition] : health.conditions) {
    if (condition.remedy == Remedy::kReboot && (condition.exits & kByRecovery) != 0) {
      returned.push_back(id);
    }
  }
  for (const uint64_t id : returned) {
    Incident& incident = state_.open.at(id);
    incident.settled = true;
    Wanted wanted;
    wanted.remedy = Remedy::kProve;
    wanted.more_exits = kByReboot | kByReset;
    wanted.at = seen.at;
    wanted.evidence = health.conditions.at(id).evidence;
    set_condition(incident, wanted);
  }
}

void HealthSteps::end_all(const HealthSubject& subject, const Ending& ending) {
  std::vector<HealthSubject> meant = with_slices(subject);
  NodeHealth& node = node_of(subject);
  if (subject.kind == HealthSubjectKind::kNode && ending.exit == kByOperator) {
    meant.clear();
    for (const auto& [known, health] : node.subjects) meant.push_back(known);
  }
  for (const HealthSubject& one : meant) {
    const auto health = node.subjects.find(one);
    if (health == node.subjects.end()) continue;
    std::vector<uint64_t> ended;
    for (const auto& [id, condition] : health->second.conditions) {
      const bool cause = ending.cause.empty() || condition.cause == ending.cause;
      // What began after the ending is not ended by it.
      const bool older = condition.since <= ending.at;
      if (cause && older && (condition.exits & ending.exit) != 0) ended.push_back(id);
    }
    for (const uint64_t id : ended) end(one, id, ending);
  }
}

void HealthSteps::end(const HealthSubject& subject, uint64_t id, const Ending& ending) {
  SubjectState& health = health_of(subject);
  const auto found = health.conditions.find(id);
  if (found == health.conditions.end()) return;
  const Condition condition = found->second;
  health.conditions.erase(found);
  touched_.insert(subject.node);
  Recurrence& past = health.history[condition.cause];
  past = remembered(past, ending.at, state_.options);
  remember(past, ending.exit, ending.at);
  Incident& incident = state_.open.at(id);
  incident.recovered_at = ending.at;
  incident.ended_by = ending.text;
  if (!rule_of(condition.remedy).quarantine) return;
  const Duration probation = state_.options.probation * (int64_t{1} << past.flaps);
  health.probation_until = std::max(health.probation_until, ending.at + probation);
  note(incident, ending.at, "on probation until " + to_text(health.probation_until));
}

}  // namespace keiko::health
