// The door: observations in order, each once, each of the present boot and about a subject by its
// right name; then to the handlers of faults, conditions and endings.
#include <algorithm>
#include <tuple>

#include "core/health/device_names.h"
#include "core/health/health_steps.h"
#include "core/health/seen.h"

namespace keiko::health {
namespace {

constexpr size_t kMostPastBoots = 16;
constexpr int64_t kMostBootUs = 1'000'000'000'000'000'000;

auto order_of(const Observation& seen) {
  return std::tie(seen.at, seen.boot_us, seen.subject, seen.kind, seen.code, seen.source,
                  seen.value, seen.limit, seen.gpu_instance, seen.detail, seen.text, seen.boot,
                  seen.wall_ms);
}

}  // namespace

void HealthSteps::on(const DevicesFound& event) {
  take_inventory(state_, event.node, event.devices);
  touched_.insert(event.node);
  Observation present;
  present.subject.node = event.node;
  present.boot = event.boot;
  present.at = now_;
  in_present_boot(present);
}

void HealthSteps::on(const Observed& event) {
  std::vector<Observation> batch = event.batch;
  std::sort(batch.begin(), batch.end(),
            [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  for (Observation& seen : batch) take_one(std::move(seen));
}

void HealthSteps::on(const NodeForgotten& event) {
  state_.nodes.erase(event.node);
  touched_.erase(event.node);
  for (auto& [id, incident] : state_.open) {
    if (incident.subject.node != event.node) continue;
    incident.settled = true;
    incident.recovered_at = now_;
    incident.ended_by = "its node left the cluster";
  }
}

void HealthSteps::on(const OptionsChanged& event) {
  const Done sound = validate(event.options);
  if (sound.ok()) {
    state_.options = event.options;
  } else {
    tell(EffectKind::kNote, {}, "health options refused: " + sound.error().message);
  }
}

void HealthSteps::take_one(Observation seen) {
  const ObservationRule* rule = find_rule(seen.kind);
  if (rule == nullptr || seen.subject.node.empty()) return;
  seen.at = std::clamp(seen.at, Time{1}, std::max(now_, Time{1}));
  // No machine runs for thirty thousand years; such a number is none.
  if (seen.boot_us > kMostBootUs) seen.boot_us = 0;
  if (!in_present_boot(seen)) return;
  name_subject(seen);
  if (!first_time(node_of(seen.subject).seen, seen, state_.options.twin_window)) return;
  touched_.insert(seen.subject.node);
  switch (rule->role) {
    case Role::kFault: return fault(seen);
    case Role::kCondition: return condition(seen);
    case Role::kEnding: return ending(seen);
    case Role::kRecord: return record(seen);
  }
}

/// A new boot id is a reboot, whoever tells it first; an old one is yesterday's news.
bool HealthSteps::in_present_boot(const Observation& seen) {
  NodeHealth& node = node_of(seen.subject);
  if (seen.boot.empty() || seen.boot == node.boot) return true;
  const auto& past = node.past_boots;
  if (std::find(past.begin(), past.end(), seen.boot) != past.end()) return false;
  if (node.boot.empty()) {
    node.boot = seen.boot;
    return true;
  }
  node.past_boots.push_back(node.boot);
  if (node.past_boots.size() > kMostPastBoots) node.past_boots.erase(node.past_boots.begin());
  reboot(seen.subject.node, seen.boot, seen.at);
  return true;
}

/// Faults are the physical device's; a test or a check may be about one slice.
void HealthSteps::name_subject(Observation& seen) const {
  if (seen.subject.kind != HealthSubjectKind::kDevice) return;
  const NodeHealth& node = state_.nodes.at(seen.subject.node);
  const PhysicalDevice physical = physical_device(node, seen.subject.name);
  const bool fault = find_rule(seen.kind)->role == Role::kFault;
  const bool slice = std::any_of(node.devices.begin(), node.devices.end(), [&](const auto& device) {
    return device.uuid == seen.subject.name && !device.parent_uuid.empty();
  });
  if (slice && !fault) return;
  seen.subject.name = physical.name;
  if (seen.gpu_instance < 0) seen.gpu_instance = physical.gpu_instance;
}

void HealthSteps::record(const Observation& seen) {
  Effect& note = tell(EffectKind::kNote, seen.subject,
                      std::string(find_rule(seen.kind)->words) + ": " + seen.text);
  // A fault may be among the lines that were lost, so whoever is known to be meant is tested.
  if (seen.kind == ObservationKind::kLogGap && seen.subject.kind == HealthSubjectKind::kDevice) {
    note.kind = EffectKind::kAskRetest;
  }
}

Effect& HealthSteps::tell(EffectKind kind, const HealthSubject& subject, std::string text) {
  Effect& effect = effects_.emplace_back();
  effect.kind = kind;
  effect.subject = subject;
  effect.text = std::move(text);
  return effect;
}

void HealthSteps::note(Incident& incident, Time at, std::string text) {
  if (incident.entries.size() >= kMaxEntries) {
    // The first say what it was, the last how it ended; the middle goes.
    incident.entries.erase(incident.entries.begin() + kMaxEntries / 2);
  }
  incident.entries.push_back({at, std::move(text)});
}

std::vector<HealthSubject> HealthSteps::with_slices(const HealthSubject& subject) {
  return affected(node_of(subject), subject, Condition{});
}

}  // namespace keiko::health
