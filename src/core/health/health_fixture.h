// A health brain on a table: observations in by hand, effects looked up by kind. For tests.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/health/health_brain.h"
#include "core/health/story.h"

namespace keiko::health {

class HealthFixture {
 public:
  explicit HealthFixture(HealthOptions options = {}) : brain_(options) {
    std::vector<HealthDevice> devices;
    devices.push_back({"GPU-0", "0000:c1:00.0", "", -1});
    devices.push_back({"GPU-1", "0000:c2:00.0", "", -1});
    devices.push_back({"MIG-2a", "0000:c3:00.0", "GPU-2", 1});
    devices.push_back({"MIG-2b", "0000:c3:00.0", "GPU-2", 2});
    feed(DevicesFound{"a", std::move(devices), boot_});
  }

  static HealthSubject device(const std::string& name) {
    return {"a", HealthSubjectKind::kDevice, name};
  }
  static HealthSubject node() { return {"a", HealthSubjectKind::kNode, {}}; }
  static HealthSubject nic(const std::string& name) { return {"a", HealthSubjectKind::kNic, name}; }

  /// An observation of now, on the present boot.
  Observation seen(const HealthSubject& subject, ObservationKind kind, int64_t code = 0,
                   int64_t value = 0) const {
    Observation observation;
    observation.subject = subject;
    observation.kind = kind;
    observation.at = now_;
    observation.boot = boot_;
    observation.boot_us = (now_ - booted_at_).ns / 1000;
    observation.code = code;
    observation.value = value;
    observation.text = "line of " + to_text(kind) + " " + std::to_string(code);
    if (kind == ObservationKind::kXid) observation.source = ObservationSource::kKernelLog;
    return observation;
  }
  Observation xid(const std::string& name, int64_t code, int64_t value = 0) const {
    return seen(device(name), ObservationKind::kXid, code, value);
  }

  const Effects& feed(EventBody body) {
    effects_ = brain_.step(Event{now_, std::move(body)});
    note_wakes();
    return effects_;
  }
  const Effects& tell(std::vector<Observation> batch) { return feed(Observed{std::move(batch)}); }
  const Effects& tell(Observation one) { return tell(std::vector<Observation>{std::move(one)}); }
  /// One fault a millisecond after the other, each told by itself; effects add up.
  const Effects& xids(const std::string& name, const std::vector<int64_t>& codes) {
    Effects all;
    for (const int64_t code : codes) {
      now_ = now_ + milliseconds(1);
      tell(xid(name, code));
      all.insert(all.end(), effects_.begin(), effects_.end());
    }
    effects_ = std::move(all);
    return effects_;
  }
  const Effects& happens(const HealthSubject& subject, ObservationKind kind) {
    return tell(seen(subject, kind));
  }
  const Effects& reboot() {
    boot_ = "boot-" + std::to_string(++boots_);
    booted_at_ = now_;
    return tell(seen(node(), ObservationKind::kReboot));
  }

  /// Lets time pass, waking the brain when it asked for it; effects add up.
  const Effects& pass(Duration duration) {
    const Time until = now_ + duration;
    Effects all;
    while (wake_ && *wake_ <= until) {
      now_ = std::max(now_, *std::exchange(wake_, std::nullopt));
      feed(Wake{});
      all.insert(all.end(), effects_.begin(), effects_.end());
    }
    now_ = until;
    effects_ = std::move(all);
    return effects_;
  }

  /// RETURNS: the last effects of one kind.
  std::vector<Effect> got(EffectKind kind) const {
    std::vector<Effect> result;
    for (const Effect& effect : effects_) {
      if (effect.kind == kind) result.push_back(effect);
    }
    return result;
  }
  /// RETURNS: the names of the subjects of the last effects of one kind.
  std::vector<std::string> names(EffectKind kind) const {
    std::vector<std::string> result;
    for (const Effect& effect : got(kind)) {
      const HealthSubject& subject = effect.subject;
      result.push_back(subject.kind == HealthSubjectKind::kNode ? subject.node : subject.name);
    }
    return result;
  }
  HealthView view(const std::string& name) const { return view_of(brain_.state(), device(name)); }
  HealthView view(const HealthSubject& subject) const { return view_of(brain_.state(), subject); }
  const HealthState& state() const { return brain_.state(); }
  HealthBrain& brain() { return brain_; }
  Time now() const { return now_; }
  const std::string& boot() const { return boot_; }

 private:
  void note_wakes() {
    for (const Effect& effect : effects_) {
      if (effect.kind != EffectKind::kWakeAt) continue;
      if (!wake_ || effect.at < *wake_) wake_ = effect.at;
    }
  }

  HealthBrain brain_;
  Time now_{hours(24 * 365).ns};
  Time booted_at_{hours(24 * 364).ns};
  std::string boot_ = "boot-1";
  int boots_ = 1;
  Effects effects_;
  std::optional<Time> wake_;
};

}  // namespace keiko::health
