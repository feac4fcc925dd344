// CheckDesk: makes the checks that are wanted. A worker that is to start waits here until its
// preflight is over; what is ill, suspect or idle is tested in the background, by the plan of
// core/health.
//
//   Spawn ──► hold() ──► preflight lane ──► take(): start it, or say why not
//   CheckPlan ─────────► background lane ──► observations ──► HealthWatch
//
// Nothing is tested beside a worker that has it. One thread, the agent's loop; the lanes only leave
// their results.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/health/check_lane.h"
#include "agent/health/device_holders.h"
#include "agent/health/health_watch.h"
#include "core/health/checks/check_findings.h"
#include "core/health/checks/check_plan.h"
#include "core/node/node_brain.h"

namespace keiko::agent {

using MakeChecks = std::function<std::unique_ptr<Checks>()>;

struct CheckParts {
  MakeChecks make;             ///< called twice, once a lane
  HealthWatch& health;
  const DeviceHolders& holders;
  std::function<void()> wake;  ///< from any thread: take() has news
};

class CheckDesk {
 public:
  CheckDesk(CheckParts parts, health::CheckOptions options, const NodeSpec& spec, Time now);

  /// Begins the preflight of a worker, which waits for it; breaks off what is tested on its
  /// devices.
  void hold(node::Spawn spawn);
  /// Nobody wants the worker any more. RETURNS: whether it was waiting here.
  bool drop(const WorkerKey& key);

  struct Ready {
    node::Spawn spawn;
    std::string why_not;  ///< empty: it may start
  };
  /// Tells the judge what was found. RETURNS: the workers whose preflight is over.
  std::vector<Ready> take(Time now);

  /// Starts what the plan wants now.
  void look(Time now);
  /// Somebody wants a re-test now. RETURNS: kNotFound for what cannot be tested.
  Done test_now(const HealthSubject& subject) { return plan_.ask(subject); }

  /// A worker that had these devices has ended badly.
  void suspect(const std::vector<std::string>& uuids) { plan_.suspect(uuids); }

 private:
  std::set<std::string> busy() const;
  CheckOrder order_of(const health::CheckWanted& wanted) const;
  void take_preflight(const CheckLane::Result& result, Time now, std::vector<Ready>& ready);
  void take_background(const CheckLane::Result& result, Time now);
  void observe(const health::CheckedSubject& checked, const std::vector<CheckOutcome>& outcomes);
  void break_off(const std::vector<Device>& devices);
  CheckLane::Tell teller();

  const CheckParts parts_;
  const NodeSpec spec_;
  health::CheckPlan plan_;
  uint64_t next_ticket_ = 1;
  uint64_t background_ = 0;  ///< the ticket of what the plan's running check is
  std::map<uint64_t, node::Spawn> held_;
  std::mutex mutex_;  // guards results_
  std::vector<CheckLane::Result> results_;
  std::unique_ptr<CheckLane> preflight_lane_;
  std::unique_ptr<CheckLane> background_lane_;
};

}  // namespace keiko::agent
