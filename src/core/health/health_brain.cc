#include "core/health/health_brain.h"

#include <algorithm>
#include <utility>

#include "core/health/health_steps.h"

namespace keiko::health {

std::string to_text(EffectKind kind) {
  switch (kind) {
    case EffectKind::kQuarantine: return "quarantine";
    case EffectKind::kRelease: return "release";
    case EffectKind::kDrainNode: return "drain_node";
    case EffectKind::kAskReset: return "ask_reset";
    case EffectKind::kAskRetest: return "ask_retest";
    case EffectKind::kAskReboot: return "ask_reboot";
    case EffectKind::kNote: return "note";
    case EffectKind::kWakeAt: return "wake_at";
  }
  return "unknown";
}

HealthBrain::HealthBrain(HealthOptions options) { state_.options = options; }

HealthBrain::HealthBrain(HealthState state) : state_(std::move(state)) {}

Effects HealthBrain::step(const Event& event) {
  state_.now = std::max(state_.now, event.at);
  HealthSteps steps(state_, state_.now);
  steps.keep_time();
  std::visit([&](const auto& body) { steps.on(body); }, event.body);
  steps.finish();
  Effects effects = steps.take();
  const Time next = steps.next_due();
  const bool asked = wake_asked_ > state_.now && wake_asked_ <= next;
  if (next.ns != INT64_MAX && !asked) {
    wake_asked_ = next;
    Effect wake;
    wake.kind = EffectKind::kWakeAt;
    wake.at = next;
    effects.push_back(std::move(wake));
  }
  return effects;
}

}  // namespace keiko::health
