#include "core/health/policy/fault.h"

#include <algorithm>
#include <initializer_list>
#include <tuple>

#include "base/check.h"
#include "core/health/policy/observation_rule.h"

namespace keiko::health {
namespace {

using Kind = ObservationKind;

constexpr int64_t kAdviceXid = 154;
constexpr int64_t kFellOffXid = 79;

bool has_xid(const Incident& incident, std::initializer_list<int64_t> codes) {
  return std::any_of(incident.sightings.begin(), incident.sightings.end(), [&](const auto& seen) {
    return seen.kind == Kind::kXid &&
           std::find(codes.begin(), codes.end(), seen.code) != codes.end();
  });
}

XidWorkflow workflow_of(const Sighting& seen) {
  const XidRule* rule = seen.kind == Kind::kXid ? find_xid(seen.code) : nullptr;
  return rule == nullptr ? XidWorkflow::kNone : rule->workflow;
}

/// Followers never cause anything, however early they are.
bool is_follower(const Sighting& seen) {
  const XidWorkflow workflow = workflow_of(seen);
  return workflow == XidWorkflow::kFollower || workflow == XidWorkflow::kAdvice;
}

const Sighting& root_of(const Incident& incident) {
  CHECK(!incident.sightings.empty());
  const auto rank = [](const Sighting& seen) {
    return std::make_tuple(is_follower(seen), seen.boot_us, seen.at, seen.kind, seen.code);
  };
  return *std::min_element(incident.sightings.begin(), incident.sightings.end(),
                           [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

/// A double-bit error alone wants a reset. Contained (94) or remapped (63), what runs may end
/// first; not contained (95) or not remapped (64), it may not.
Remedy double_bit(const Incident& incident) {
  if (has_xid(incident, {64, 95})) return Remedy::kReset;
  return has_xid(incident, {63, 94}) ? Remedy::kDrainReset : Remedy::kReset;
}

/// Alone it says that the fabric manager may have gone, but only once it is certain to be alone.
Remedy follower(const Incident& incident, Remedy alone) {
  const bool solo = std::all_of(incident.sightings.begin(), incident.sightings.end(), is_follower);
  return solo && incident.settled ? alone : Remedy::kIgnore;
}

Remedy remedy_of_xid(const Incident& incident, const Sighting& seen) {
  const XidRule* rule = find_xid(seen.code);
  if (rule == nullptr) return Remedy::kRetest;  // newer than the table: test it
  switch (rule->workflow) {
    case XidWorkflow::kDoubleBit: return double_bit(incident);
    case XidWorkflow::kFollower: return follower(incident, rule->remedy);
    case XidWorkflow::kNvlink5: return seen.value == 1 ? rule->remedy : Remedy::kObserve;
    case XidWorkflow::kAdvice: return Remedy::kIgnore;
    case XidWorkflow::kNvlink:
    case XidWorkflow::kNone: break;
  }
  return rule->remedy;
}

Remedy remedy_of_other(const Incident& incident, const Sighting& seen,
                       const HealthOptions& options) {
  const ObservationRule* rule = find_rule(seen.kind);
  if (rule == nullptr) return Remedy::kIgnore;
  // The driver's own words about the same error are more exact than a counter that has moved.
  const bool counted = seen.kind == Kind::kEccUncorrectable;
  if (counted && has_xid(incident, {48, 63, 64, 94, 95, 171, 172})) return Remedy::kIgnore;
  const bool few = seen.kind == Kind::kEccSramAggregate && seen.value <= options.sram_errors_most;
  return few ? Remedy::kIgnore : rule->remedy;
}

const Sighting* advice_of(const Incident& incident, Remedy& remedy) {
  for (const Sighting& seen : incident.sightings) {
    const bool is_advice = seen.kind == Kind::kXid && seen.code == kAdviceXid;
    if (is_advice && remedy_of_advice(seen.value, remedy)) return &seen;
  }
  return nullptr;
}

/// Is the XID answered by the driver's advice? "Nothing" is only said of what came before it.
bool is_advised(const Sighting& seen, const Sighting* advice, Remedy advised) {
  if (seen.kind != Kind::kXid || advice == nullptr) return false;
  return advised != Remedy::kIgnore || seen.last_at <= advice->last_at;
}

FaultScope scope_of(const Sighting& seen) {
  const XidRule* rule = seen.kind == Kind::kXid ? find_xid(seen.code) : nullptr;
  const bool slice = rule != nullptr && rule->scope == FaultScope::kSlice && seen.gpu_instance >= 0;
  return slice ? FaultScope::kSlice : FaultScope::kDevice;
}

/// Adds what one sighting says to the judgement.
void weigh(Judgement& judgement, const Sighting& seen, Remedy remedy) {
  if (remedy < judgement.remedy || remedy == Remedy::kIgnore) return;
  const FaultScope scope = scope_of(seen);
  const bool same_slice =
      scope == FaultScope::kSlice && judgement.gpu_instance == seen.gpu_instance;
  const bool first = judgement.remedy < remedy;
  if (first) judgement.more_exits = 0;
  judgement.scope = first || same_slice ? scope : FaultScope::kDevice;
  judgement.gpu_instance = judgement.scope == FaultScope::kSlice ? seen.gpu_instance : -1;
  judgement.remedy = remedy;
  const ObservationRule* rule = find_rule(seen.kind);
  if (rule != nullptr) judgement.more_exits |= rule->more_exits;
  if (seen.kind == Kind::kXid && seen.code == kFellOffXid) judgement.more_exits |= kByRecovery;
}

}  // namespace

bool remedy_of_advice(int64_t action, Remedy& remedy) {
  switch (action) {
    case 0: remedy = Remedy::kIgnore; return true;
    case 1: remedy = Remedy::kReset; return true;
    case 2: remedy = Remedy::kReboot; return true;
    case 3:  // drain what uses peers, which is any gang
    case 4: remedy = Remedy::kDrainReset; return true;
    default: return false;
  }
}

Judgement judge(const Incident& incident, const HealthOptions& options) {
  Judgement judgement;
  judgement.root = &root_of(incident);
  const Sighting& root = *judgement.root;
  judgement.cause = cause_of(root.kind, root.code, root.detail);
  Remedy advised = Remedy::kIgnore;
  const Sighting* advice = advice_of(incident, advised);
  for (const Sighting& seen : incident.sightings) {
    if (is_advised(seen, advice, advised)) continue;
    const bool xid = seen.kind == Kind::kXid;
    weigh(judgement, seen,
          xid ? remedy_of_xid(incident, seen) : remedy_of_other(incident, seen, options));
  }
  if (advice != nullptr) weigh(judgement, *advice, advised);
  if (incident.suspect) weigh(judgement, root, Remedy::kRetest);
  return judgement;
}

Remedy escalate(Remedy remedy, const Recurrence& past, const HealthOptions& options) {
  const bool wants_cure = remedy >= Remedy::kRest && remedy <= Remedy::kReboot;
  if (wants_cure && past.reboots >= options.reboots_before_inspection) return Remedy::kInspect;
  const bool resets = remedy == Remedy::kReset || remedy == Remedy::kDrainReset;
  return resets && past.resets >= options.resets_before_reboot ? Remedy::kReboot : remedy;
}

}  // namespace keiko::health
