// The handlers of the health brain, one file per theme, and the words they share. An object lives
// for one step and collects its effects in order.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/health/health_brain.h"
#include "core/health/policy/fault.h"
#include "core/health/policy/observation_rule.h"

namespace keiko::health {

class HealthSteps {
 public:
  HealthSteps(HealthState& state, Time now) : state_(state), now_(now) {}

  /// What is due by the clock alone; on_time.cc.
  void keep_time();
  void on(const DevicesFound& event);    // on_observed.cc
  void on(const Observed& event);        // on_observed.cc
  void on(const NodeForgotten& event);   // on_observed.cc
  void on(const OptionsChanged& event);  // on_observed.cc
  void on(const Wake& event);            // on_time.cc
  /// Closes what is over, tells what is newly quarantined or free; on_time.cc.
  void finish();
  /// RETURNS: when the clock alone will have work, INT64_MAX ns for never; on_time.cc.
  Time next_due() const;

  Effects take() { return std::move(effects_); }

 private:
  // on_observed.cc
  void take_one(Observation seen);
  bool in_present_boot(const Observation& seen);
  void name_subject(Observation& seen) const;
  void record(const Observation& seen);

  // on_fault.cc
  void fault(const Observation& seen);
  Incident* fault_incident(const Observation& seen);
  /// Judges it with what is known at `at`.
  void rejudge(Incident& incident, Time at);
  void count_app_fault(Incident& incident);

  // on_condition.cc
  void condition(const Observation& seen);
  Incident* told_before(const Observation& seen, const std::string& cause);
  Remedy escalated(const Incident& incident, Remedy remedy, Time at);
  void count_flap(SubjectState& health, const std::string& cause, Time at) const;
  Incident& open_incident(const Observation& seen, const std::string& cause);
  /// What a condition is to become.
  struct Wanted {
    Remedy remedy = Remedy::kObserve;
    uint32_t more_exits = 0;
    uint32_t fewer_exits = 0;
    FaultScope scope = FaultScope::kDevice;
    int32_t gpu_instance = -1;
    Time at;
    std::string evidence;
  };
  void set_condition(Incident& incident, const Wanted& wanted);
  void hold(SubjectState& health, Condition& condition) const;
  void ask(const Incident& incident, const Condition& condition);
  void charge_lemon(Incident& incident);

  // on_ending.cc
  void ending(const Observation& seen);
  void reboot(const std::string& node, const std::string& boot, Time at);
  void carrier_back(const Observation& seen);
  void device_back(const Observation& seen);
  /// Ends what this kind of exit ends. REQUIRES: `exit` is one bit. `cause` empty: whatever it is.
  struct Ending {
    Exit exit = kByOperator;
    std::string cause;
    Time at;
    std::string text;
  };
  void end_all(const HealthSubject& subject, const Ending& ending);
  void end(const HealthSubject& subject, uint64_t incident, const Ending& ending);

  // on_time.cc
  void end_timers();
  void review();
  void settle();
  void close_incidents();
  void tell_quarantine(NodeHealth& node);
  void forget_subjects(NodeHealth& node) const;

  NodeHealth& node_of(const HealthSubject& subject) { return state_.nodes[subject.node]; }
  SubjectState& health_of(const HealthSubject& subject) {
    return node_of(subject).subjects[subject];
  }
  std::vector<HealthSubject> with_slices(const HealthSubject& subject);
  Effect& tell(EffectKind kind, const HealthSubject& subject, std::string text);
  void note(Incident& incident, Time at, std::string text);

  HealthState& state_;
  Time now_;
  Effects effects_;
  std::set<std::string> touched_;  ///< nodes whose quarantine may have changed
};

/// RETURNS: `past` as far as it is remembered.
Recurrence remembered(const Recurrence& past, Time now, const HealthOptions& options);

}  // namespace keiko::health
