// Faults of devices: XIDs, memory errors, a device that is gone. What is near in time on one device
// is one incident, judged afresh with every sighting.
#include <algorithm>
#include <utility>

#include "core/health/health_steps.h"
#include "core/health/story.h"

namespace keiko::health {
namespace {

using Kind = ObservationKind;

bool is_fault(const Incident& incident) {
  const ObservationRule* rule = find_rule(incident.sightings.front().kind);
  return rule != nullptr && rule->role == Role::kFault;
}

/// Does the incident go on with this? Some faults are states that are told of again and again; an
/// XID is an event, but on a device that is ill already (`ill`: for this incident) the same one
/// again, and what only follows others, is no other matter.
bool goes_on(const Incident& incident, const Observation& seen, bool ill) {
  const bool xid = seen.kind == Kind::kXid;
  const XidRule* rule = xid ? find_xid(seen.code) : nullptr;
  const bool follower = rule != nullptr && (rule->workflow == XidWorkflow::kFollower ||
                                            rule->workflow == XidWorkflow::kAdvice);
  if (ill && follower) return true;
  return std::any_of(incident.sightings.begin(), incident.sightings.end(), [&](const auto& known) {
    return known.kind == seen.kind && (!xid || (ill && known.code == seen.code));
  });
}

bool is_near(const Incident& incident, Time at, Duration window) {
  return !incident.settled && at <= incident.last_at + window && at + window >= incident.opened_at;
}

void add_again(Sighting& known, const Observation& seen) {
  ++known.count;
  if (seen.gpu_instance != known.gpu_instance) known.gpu_instance = -1;
  // What was cut off says nothing; a fatal error stays fatal.
  const bool nvlink = find_xid(seen.code) != nullptr &&
                      find_xid(seen.code)->workflow == XidWorkflow::kNvlink5;
  const bool later = seen.at >= known.last_at && seen.value >= 0;
  if (nvlink) known.value = std::max(known.value, seen.value);
  else if (later) known.value = seen.value;
  known.last_at = std::max(known.last_at, seen.at);
  if (seen.at >= known.at) return;
  known.at = seen.at;
  known.boot_us = seen.boot_us;
  known.text = seen.text;
}

void add_sighting(Incident& incident, const Observation& seen) {
  incident.last_at = std::max(incident.last_at, seen.at);
  incident.opened_at = std::min(incident.opened_at, seen.at);
  for (Sighting& known : incident.sightings) {
    if (known.kind == seen.kind && known.code == seen.code) return add_again(known, seen);
  }
  if (incident.sightings.size() < kMaxSightings) incident.sightings.push_back(sighting_of(seen));
  else ++incident.left_out;
}

}  // namespace

Incident* HealthSteps::fault_incident(const Observation& seen) {
  const SubjectState& health = health_of(seen.subject);
  // The youngest first: it is the one that a fault of now belongs to.
  for (auto entry = state_.open.rbegin(); entry != state_.open.rend(); ++entry) {
    Incident& incident = entry->second;
    if (incident.subject != seen.subject || !is_fault(incident)) continue;
    const bool ill = health.conditions.contains(entry->first);
    if (is_near(incident, seen.at, state_.options.cascade_window) ||
        goes_on(incident, seen, ill)) {
      return &incident;
    }
  }
  return nullptr;
}

void HealthSteps::fault(const Observation& seen) {
  const bool cured = seen.kind == Kind::kXid && seen.code == 154 && seen.value == 0;
  if (cured) end_all(seen.subject, {kByReset, {}, seen.at, "the driver asks for nothing more"});
  Incident* incident = fault_incident(seen);
  if (cured && incident == nullptr) return;
  const bool fresh = incident == nullptr;
  if (fresh) incident = &open_incident(seen, cause_of(seen.kind, seen.code, seen.detail));
  else add_sighting(*incident, seen);
  incident->recovered_at = {};
  rejudge(*incident, seen.at);
}

void HealthSteps::count_app_fault(Incident& incident) {
  std::vector<Time>& faults = health_of(incident.subject).app_faults;
  faults.push_back(incident.opened_at);
  std::sort(faults.begin(), faults.end());
  const auto most = static_cast<size_t>(state_.options.app_faults_before_retest);
  if (faults.size() > most) faults.erase(faults.begin());
  incident.suspect =
      faults.size() >= most && faults.back() - faults.front() <= state_.options.suspect_window;
}

void HealthSteps::rejudge(Incident& incident, Time at) {
  Judgement judgement = judge(incident, state_.options);
  const Remedy before = incident.remedy;
  if (judgement.remedy == Remedy::kRestartApp && before != Remedy::kRestartApp) {
    count_app_fault(incident);
    judgement = judge(incident, state_.options);
  }
  incident.cause = judgement.cause;
  incident.scope = judgement.scope;
  const Remedy remedy = escalated(incident, judgement.remedy, at);
  if (remedy <= Remedy::kRestartApp) {
    incident.remedy = remedy;
    if (remedy != before) note(incident, at, "asks for " + std::string(rule_of(remedy).asks_for));
    return end(incident.subject, incident.id,
               {kByRecovery, {}, at, "it wants nothing more than that"});
  }
  Wanted wanted;
  wanted.remedy = remedy;
  wanted.more_exits = remedy == judgement.remedy ? judgement.more_exits : 0;
  wanted.scope = judgement.scope;
  wanted.gpu_instance = judgement.gpu_instance;
  wanted.at = at;
  wanted.evidence =
      judgement.root->text.empty() ? words_of(*judgement.root) : judgement.root->text;
  set_condition(incident, wanted);
}

}  // namespace keiko::health
