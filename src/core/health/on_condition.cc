// Conditions: what is wrong with a subject for as long as it is told of or until something ends it;
// and what is asked for on its behalf.
#include <algorithm>
#include <utility>

#include "core/health/health_steps.h"
#include "core/health/lemon.h"

namespace keiko::health {
namespace {

using Kind = ObservationKind;

Duration doubled(Duration hold, int32_t times) { return hold * (int64_t{1} << times); }

/// CRIT of a check takes the subject out of service; a warning, or a check that came to no answer,
/// is the operator's to know.
Remedy remedy_of(const Observation& seen, const ObservationRule& rule) {
  const bool warning = seen.kind == Kind::kCheckResult && seen.code != 2;
  return warning ? Remedy::kAskOperator : rule.remedy;
}

/// A measurement may be told whatever it is; within its limit it is no trouble but the end of one.
bool is_well(const Observation& seen, const HealthOptions& options) {
  if (seen.kind == Kind::kCheckResult) return seen.code <= 0;
  if (seen.limit <= 0) return false;
  if (seen.kind == Kind::kDiskLow) return seen.value >= seen.limit;
  const int64_t least = seen.limit / 100 * options.link_slow_percent;
  return seen.kind == Kind::kLinkSlow && seen.value >= least;
}

std::string evidence_of(const Observation& seen, const ObservationRule& rule) {
  if (!seen.text.empty()) return seen.text;
  std::string text = rule.words;
  if (seen.limit != 0) {
    text += ": " + std::to_string(seen.value) + " of " + std::to_string(seen.limit);
  } else if (seen.value != 0) {
    text += ": " + std::to_string(seen.value);
  }
  return text;
}

}  // namespace

Recurrence remembered(const Recurrence& past, Time now, const HealthOptions& options) {
  return now - past.ended_at > options.recurrence_memory ? Recurrence{} : past;
}

Incident& HealthSteps::open_incident(const Observation& seen, const std::string& cause) {
  Incident& incident = state_.open[state_.next_incident];
  incident.id = state_.next_incident++;
  incident.subject = seen.subject;
  incident.cause = cause;
  incident.opened_at = seen.at;
  incident.last_at = seen.at;
  incident.sightings.push_back(sighting_of(seen));
  return incident;
}

void HealthSteps::condition(const Observation& seen) {
  if (is_well(seen, state_.options)) return ending(seen);
  const ObservationRule& rule = *find_rule(seen.kind);
  const std::string cause = cause_of(seen.kind, seen.code, seen.detail);
  Incident* incident = told_before(seen, cause);
  if (incident == nullptr) {
    incident = &open_incident(seen, cause);
    incident->settled = true;
  }
  Wanted wanted;
  Remedy plain = remedy_of(seen, rule);
  // A check that failed and only warns now, or cannot say, has not passed.
  if (seen.kind == Kind::kCheckResult) plain = std::max(plain, incident->remedy);
  wanted.remedy = escalated(*incident, plain, seen.at);
  wanted.more_exits = wanted.remedy == rule.remedy ? rule.more_exits : 0;
  wanted.fewer_exits = rule.fewer_exits;
  wanted.at = seen.at;
  wanted.evidence = evidence_of(seen, rule);
  set_condition(*incident, wanted);
}

/// RETURNS: the open incident that this is another word of, or nullptr.
Incident* HealthSteps::told_before(const Observation& seen, const std::string& cause) {
  SubjectState& health = health_of(seen.subject);
  for (auto& [id, known] : health.conditions) {
    if (known.cause != cause) continue;
    // It fell again while it was still watched after its return.
    if (seen.kind == Kind::kLinkDown && known.ends_at > Time{}) {
      int32_t& flaps = health.history[cause].flaps;
      flaps = std::min(flaps + 1, state_.options.flaps_most);
    }
    Incident& incident = state_.open.at(id);
    Sighting& first = incident.sightings.front();
    ++first.count;
    first.value = seen.value;
    first.last_at = std::max(first.last_at, seen.at);
    incident.last_at = std::max(incident.last_at, seen.at);
    return &incident;
  }
  return nullptr;
}

Remedy HealthSteps::escalated(const Incident& incident, Remedy remedy, Time at) {
  const SubjectState& health = health_of(incident.subject);
  const auto past = health.history.find(incident.cause);
  if (past == health.history.end()) return remedy;
  return escalate(remedy, remembered(past->second, at, state_.options), state_.options);
}

/// Counts how soon the cause is back, and forgets the oldest causes beyond the cap.
void HealthSteps::count_flap(SubjectState& health, const std::string& cause, Time at) const {
  Recurrence& past = health.history[cause];
  const bool flap = past.ended_at > Time{} && at - past.ended_at <= state_.options.flap_window;
  past.flaps = flap ? std::min(past.flaps + 1, state_.options.flaps_most) : 0;
  while (health.history.size() > kMaxHistory) {
    const auto oldest = std::min_element(
        health.history.begin(), health.history.end(), [&](const auto& a, const auto& b) {
          return std::make_pair(a.first == cause, a.second.ended_at) <
                 std::make_pair(b.first == cause, b.second.ended_at);
        });
    health.history.erase(oldest);
  }
}

void HealthSteps::set_condition(Incident& incident, const Wanted& wanted) {
  SubjectState& health = health_of(incident.subject);
  const bool fresh = !health.conditions.contains(incident.id);
  Condition& condition = health.conditions[incident.id];
  const RemedyRule& rule = rule_of(wanted.remedy);
  if (fresh) {
    condition.incident = incident.id;
    condition.since = wanted.at;
    condition.review_pause = state_.options.review_first;
    condition.review_at = wanted.at + condition.review_pause;
    condition.evidence = wanted.evidence;
    count_flap(health, incident.cause, wanted.at);
  }
  const bool changed = fresh || incident.remedy != wanted.remedy;
  if (condition.cause != incident.cause) condition.evidence = wanted.evidence;
  condition.cause = incident.cause;
  condition.remedy = wanted.remedy;
  condition.exits = (rule.exits | wanted.more_exits) & ~wanted.fewer_exits;
  condition.scope = wanted.scope;
  condition.gpu_instance = wanted.gpu_instance;
  condition.last_seen = std::max(condition.last_seen, wanted.at);
  incident.remedy = wanted.remedy;
  hold(health, condition);
  if (!changed) return;
  note(incident, wanted.at, (rule.quarantine ? "quarantined; asks for " : "asks for ") +
                               std::string(rule.asks_for));
  charge_lemon(incident);
  ask(incident, condition);
}

/// Sets the timer that a remedy brings along; each flap doubles it. A carrier that is lost has none
/// until it is back.
void HealthSteps::hold(SubjectState& health, Condition& condition) const {
  const RemedyRule& rule = rule_of(condition.remedy);
  condition.ends_at = {};
  if (rule.hold.ns == 0) return;
  const auto past = health.history.find(condition.cause);
  const int32_t flaps = past == health.history.end() ? 0 : past->second.flaps;
  condition.ends_at = condition.last_seen + doubled(rule.hold, flaps);
}

void HealthSteps::ask(const Incident& incident, const Condition& condition) {
  const HealthSubject& subject = incident.subject;
  const std::string why = condition.cause + ": " + condition.evidence;
  const auto request = [&](EffectKind kind, const HealthSubject& of, bool when_idle) {
    Effect& effect = tell(kind, of, why);
    effect.incident = incident.id;
    effect.when_idle = when_idle;
  };
  const HealthSubject node{subject.node, HealthSubjectKind::kNode, {}};
  switch (condition.remedy) {
    case Remedy::kRetest:
    case Remedy::kContactSupport:
    case Remedy::kProve: return request(EffectKind::kAskRetest, subject, false);
    case Remedy::kDrainReset: return request(EffectKind::kAskReset, subject, true);
    case Remedy::kReset: return request(EffectKind::kAskReset, subject, false);
    case Remedy::kReboot:
      request(EffectKind::kDrainNode, node, false);
      return request(EffectKind::kAskReboot, node, true);
    case Remedy::kAskOperator:
    case Remedy::kInspect:
    case Remedy::kReplace: return request(EffectKind::kNote, subject, false);
    case Remedy::kIgnore:
    case Remedy::kRestartApp:
    case Remedy::kObserve:
    case Remedy::kRest: return;
  }
}

void HealthSteps::charge_lemon(Incident& incident) {
  if (incident.charged || incident.remedy < Remedy::kRetest) return;
  incident.charged = true;
  const Duration half_life = state_.options.lemon_half_life;
  charge(health_of(incident.subject).lemon, incident.opened_at, half_life);
  if (incident.subject.kind == HealthSubjectKind::kNode) return;
  const HealthSubject node{incident.subject.node, HealthSubjectKind::kNode, {}};
  charge(health_of(node).lemon, incident.opened_at, half_life);
}

}  // namespace keiko::health
