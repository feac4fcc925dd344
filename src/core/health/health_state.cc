#include "core/health/health_state.h"

#include <algorithm>

#include "core/health/device_names.h"
#include "core/health/policy/observation_rule.h"

namespace keiko::health {
namespace {

constexpr char kVersion = 1;
/// A million incidents at once; more would not fit the arithmetic of scores.
constexpr int64_t kMostScore = 1'000'000'000'000;

bool in_count(int32_t value) { return value >= 0 && value <= (1 << 30); }

Done unsound(const std::string& text) { return internal_error("health: " + text); }

bool is_remedy(Remedy remedy) { return remedy >= Remedy::kIgnore && remedy <= Remedy::kReplace; }

/// Far from the ends of the clock, so that sums and differences are times, too.
bool is_time(Time at) { return at.ns >= 0 && at.ns <= (int64_t{1} << 61); }

bool has_times(const Incident& incident) {
  return is_time(incident.opened_at) && is_time(incident.last_at) &&
         is_time(incident.recovered_at) &&
         std::all_of(incident.sightings.begin(), incident.sightings.end(), [](const auto& seen) {
           return is_time(seen.at) && is_time(seen.last_at);
         });
}

bool has_times(const SubjectState& health) {
  return is_time(health.probation_until) && is_time(health.lemon.at) &&
         std::all_of(health.app_faults.begin(), health.app_faults.end(), is_time);
}

bool has_times(const Condition& condition) {
  return is_time(condition.since) && is_time(condition.last_seen) && is_time(condition.ends_at) &&
         is_time(condition.review_at) && condition.review_pause >= milliseconds(1) &&
         condition.review_pause <= hours(24 * 366);
}

Done check_incident(const HealthState& state, const Incident& incident, uint64_t id) {
  if (incident.id != id || id == 0 || id >= state.next_incident) {
    return unsound("incident " + std::to_string(id) + " is filed as another or beyond the counter");
  }
  if (incident.sightings.empty() || !is_remedy(incident.remedy)) {
    return unsound("incident " + std::to_string(id) + " has no cause or an unknown remedy");
  }
  if (!has_times(incident)) return unsound("incident " + std::to_string(id) + " has no time");
  for (const Sighting& seen : incident.sightings) {
    if (find_rule(seen.kind) == nullptr) return unsound("a sighting of an unknown kind");
  }
  return done();
}

Done check_condition(const HealthState& state, const HealthSubject& subject, uint64_t id,
                     const Condition& condition) {
  const std::string name = to_text(subject) + ", incident " + std::to_string(id);
  const auto incident = state.open.find(id);
  if (condition.incident != id || incident == state.open.end() ||
      incident->second.subject != subject) {
    return unsound(name + ": its condition is of no open incident");
  }
  if (!is_remedy(condition.remedy)) return unsound(name + ": an unknown remedy");
  if ((condition.exits & kByOperator) == 0) return unsound(name + ": it has no exit");
  if (condition.review_at <= Time{}) return unsound(name + ": nobody will look at it again");
  if (!has_times(condition)) return unsound(name + ": a time that cannot be");
  const bool timed = rule_of(condition.remedy).hold.ns > 0;
  if (timed && condition.ends_at <= Time{}) return unsound(name + ": its timer does not run");
  return done();
}

Done check_node(const HealthState& state, const std::string& name, const NodeHealth& node) {
  for (const auto& [subject, health] : node.subjects) {
    if (subject.node != name) return unsound(to_text(subject) + " is filed below " + name);
    if (health.history.size() > kMaxHistory) return unsound(to_text(subject) + " grows on");
    const bool scored = health.lemon.millionths >= 0 && health.lemon.millionths <= kMostScore;
    if (!has_times(health) || !scored) return unsound(to_text(subject) + ": a past that cannot be");
    for (const auto& [cause, past] : health.history) {
      const bool sane = past.flaps >= 0 && past.flaps <= 10 && in_count(past.resets) &&
                        in_count(past.reboots) && is_time(past.ended_at);
      if (!sane) return unsound(to_text(subject) + ": a count that cannot be");
    }
    for (const auto& [id, condition] : health.conditions) {
      TRY(check_condition(state, subject, id, condition));
    }
  }
  std::set<HealthSubject> follows;
  for (const auto& [subject, condition] : quarantine_of(node)) follows.insert(subject);
  if (follows != node.quarantined) {
    return unsound(name + ": the quarantine does not follow from the conditions");
  }
  return done();
}

}  // namespace

std::string encode_health(const HealthState& state) {
  return std::string(1, kVersion) + encode(state);
}

Result<HealthState> decode_health(std::string_view bytes) {
  if (bytes.empty() || bytes[0] != kVersion) {
    return data_loss("the state of health is of a version that this program does not read");
  }
  HealthState state = TRY(decode<HealthState>(bytes.substr(1)));
  if (const Done sound = check_health(state); !sound.ok()) {
    return data_loss("the state of health is damaged: " + sound.error().message);
  }
  return state;
}

Digest digest_of(const HealthState& state) {
  // The clock is no fact: a line that is told twice moves it and nothing else.
  HealthState facts = state;
  facts.now = {};
  const std::string bytes = encode_health(facts);
  return keiko::digest_of(std::string_view(bytes));
}

Done check_health(const HealthState& state) {
  TRY(validate(state.options));
  if (!is_time(state.now)) return unsound("its clock shows no time");
  for (const auto& [id, incident] : state.open) TRY(check_incident(state, incident, id));
  for (const Incident& incident : state.closed) {
    TRY(check_incident(state, incident, incident.id));
  }
  for (const auto& [name, node] : state.nodes) TRY(check_node(state, name, node));
  return done();
}

}  // namespace keiko::health
