// Deadlines: the lease, and the grace of workers that were asked to stop.
#include <algorithm>
#include <csignal>

#include "core/node/node_steps.h"

namespace keiko::node {
namespace {

/// A process that survives SIGKILL (D state) is sent it again at this pace, in case it comes back.
constexpr Duration kKillAgain = seconds(1);

}  // namespace

// Before every event, not at wakes alone: an agent that was stopped for a while and finds a renewal
// in its queue must not forget that its lease had run out.
void NodeSteps::keep_deadlines() {
  guard_lease();
  kill_overdue();
}

void NodeSteps::on(const Wake& /*event*/) {}

void NodeSteps::on(const Leave& event) {
  brain_.leaving_ = true;
  for (auto& [key, worker] : brain_.workers_) {
    if (is_live(worker.report)) stop(worker, worker.grace.value_or(event.grace), event.why);
  }
}

// Workers that cannot be renewed are asked to stop, then killed, before the server gives their
// devices away. A renewal that comes too late does not call them back: they have begun to stop.
void NodeSteps::guard_lease() {
  const LeaseOptions& lease = brain_.lease_;
  if (now_ < brain_.lease_end_ - lease.stop_before) return;
  const Duration left = brain_.lease_end_ - lease.kill_before - now_;
  for (auto& [key, worker] : brain_.workers_) {
    if (!is_live(worker.report) || worker.lease_stop) continue;
    worker.lease_stop = true;
    stop(worker, std::max(left, Duration{}), "the lease ends: no answer from the server");
  }
}

void NodeSteps::kill_overdue() {
  for (auto& [key, worker] : brain_.workers_) {
    if (!is_live(worker.report) || !worker.stop_asked || now_ < worker.kill_at) continue;
    effects_.push_back(SignalWorker{key, SIGKILL});
    worker.kill_at = now_ + kKillAgain;
    if (worker.killed_at == Time{}) worker.killed_at = now_;
  }
}

}  // namespace keiko::node
