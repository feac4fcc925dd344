// What the agent's loop does about checks: a worker waits until its devices were found well, and an
// operator's word about health is carried out.
#include <utility>

#include "agent/agent_loop.h"
#include "base/log.h"

namespace keiko::agent {

/// The port comes first: peers on this node wait for it, and they wait not long.
void AgentLoop::admit(const node::Spawn& effect) {
  const WorkerKey key = effect.launch.key;
  const std::string ill = health_->why_no_work(effect.launch.devices);
  if (!ill.empty()) return refuse(key, EndCause::kNotWell, ill);
  if (!checks_) return start_now(effect);
  node::Spawn spawn = effect;
  if (effect.reserve_port) {
    const Result<int32_t> port = parts_.substrate.reserve_port(key);
    if (!port.ok()) return start_now(effect);  // which fails in the same way, and says so
    WorkerReport report;
    report.key = key;
    report.master_port = *port;
    spawn.launch.master_port = *port;
    own_events_.push_back(node::WorkerChanged{std::move(report)});
  }
  checks_->hold(std::move(spawn));
}

void AgentLoop::take_checks() {
  if (!checks_) return;
  bool judged = false;
  for (CheckDesk::Ready& ready : checks_->take(parts_.clock.now())) {
    // A device may fall ill while it is checked, by what no check looks at.
    if (ready.why_not.empty()) {
      ready.why_not = health_->why_no_work(ready.spawn.launch.devices);
    }
    if (ready.why_not.empty()) {
      start_now(ready.spawn);
      continue;
    }
    // The server learns that the device is ill before it places the job again.
    if (!std::exchange(judged, true)) look_at_health(true);
    refuse(ready.spawn.launch.key, EndCause::kNotWell, ready.why_not);
  }
  tell_own();
}

/// What the server gave to the worker is not to be had. The server learns of it first, or it would
/// give the same devices to the next worker.
void AgentLoop::refuse_without_devices(const WorkerLaunch& launch, const std::string& why) {
  const bool missing = health_->miss(launch.devices, parts_.clock.now());
  look_at_health(true);
  refuse(launch.key, missing ? EndCause::kNotWell : EndCause::kNodeFailed, why);
}

void AgentLoop::carry_out(const node::ActOnHealth& effect) {
  HealthSubject subject = effect.order.subject;
  subject.node = spec().name;
  const bool clear = effect.order.action == HealthAction::kClear;
  const std::string reason = effect.order.who + (effect.order.why.empty() ? "" : ": ") +
                             effect.order.why;
  Done outcome = done();
  if (clear) outcome = health_->clear(subject, reason, parts_.clock.now());
  else if (checks_) outcome = checks_->test_now(subject);
  else outcome = failed_precondition("this agent makes no checks");
  log_info(clear ? "health_cleared" : "health_checked",
           "subject=" + quote_text(to_text(subject)) + " by=" + quote_text(reason) +
               (outcome.ok() ? "" : " refused=" + quote_text(outcome.error().message)));
  look_at_health(true);
}

}  // namespace keiko::agent
