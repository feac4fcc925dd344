// CheckPlan: which checks run when. It is asked once a second what should be checked now, and told
// how it went; time comes from the caller alone.
//
//   what is ill and a test may end it ──► re-test, again and again, ever more seldom
//   what only a reset cures           ──► reset, likewise, once it is idle
//   what a failed worker had          ──► after failure, as soon as it is idle
//   what is idle for long             ──► periodic
//
// One check at a time, and none beside a worker of the device. Re-tests follow from the state of
// health, not from what was asked, so a restart forgets none. Preflight checks are not planned: a
// worker that is to start asks for its own. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/health/health_state.h"
#include "model/check.h"

namespace keiko::health {

struct CheckOptions {
  /// From the start of a condition to its first re-test, and the pause after that; each failure
  /// doubles the pause, and so does each time that the cause came back soon. Half a minute lets a
  /// process that holds memory end, and keeps a device that fails at once from going round.
  Duration retest_first = seconds(30);
  /// Somebody who repairs something should not wait longer for the pool to see it.
  Duration retest_most = hours(1);
  /// A device is not checked again as a suspect before: a program that fails at once, again and
  /// again, says little about its device.
  Duration suspect_pause = minutes(10);
  /// Between two checks of what is idle; 0: never.
  Duration periodic_every = hours(6);
  /// Somebody can reset devices here. Off by default: a reset is a machine's owner's to allow.
  bool can_reset = false;
};

struct CheckWanted {
  CheckKind kind = CheckKind::kPeriodic;
  HealthSubject subject;             ///< a device as the state of health names it, or the node
  std::vector<std::string> devices;  ///< UUIDs to check: several where a device is split

  friend bool operator==(const CheckWanted&, const CheckWanted&) = default;
};

class CheckPlan {
 public:
  /// Of a node and its devices as they are now.
  CheckPlan(CheckOptions options, std::string node, std::vector<HealthDevice> devices, Time now);

  /// A worker failed on these devices.
  void suspect(const std::vector<std::string>& uuids);
  /// Somebody wants a re-test as soon as it can be made. RETURNS: kNotFound for what is neither a
  /// device of this node nor the node.
  Done ask(const HealthSubject& subject);

  /// RETURNS: the check that should start now; it counts as running until finished() is called.
  /// `busy`: UUIDs of devices that workers have.
  std::optional<CheckWanted> next(Time now, const HealthState& state,
                                  const std::set<std::string>& busy);
  /// `proved`: it passed. A check that was broken off was not finished: see abandoned().
  void finished(bool proved, Time now);
  /// The running check did not come to its end; it will be wanted again.
  void abandoned();

  /// RETURNS: the running check.
  const std::optional<CheckWanted>& running() const { return running_; }

 private:
  struct Turn {
    Time tested_at;        ///< the end of the last test that counts
    int32_t failures = 0;  ///< of re-tests in a row
    Time reset_at;         ///< the end of the last attempt at a reset
    int32_t resets = 0;    ///< attempts in vain, in a row
    bool asked = false;
    bool suspect = false;
  };
  std::vector<std::string> members(const HealthSubject& subject) const;
  std::vector<HealthSubject> subjects() const;
  bool is_due(const HealthSubject& subject, const HealthState& state, Time now) const;
  std::optional<CheckWanted> reset(Time now, const HealthState& state,
                                   const std::set<std::string>& busy) const;
  Duration pause(int32_t doublings) const;
  std::optional<CheckWanted> retest(Time now, const HealthState& state,
                                    const std::set<std::string>& busy);
  std::optional<CheckWanted> other(Time now, const std::set<std::string>& busy);

  const CheckOptions options_;
  const std::string node_;
  const std::vector<HealthDevice> devices_;
  const Time started_at_;
  std::map<HealthSubject, Turn> turns_;
  std::optional<CheckWanted> running_;
};

}  // namespace keiko::health
