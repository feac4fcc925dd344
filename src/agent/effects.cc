// The hands of the agent's loop: how each effect of the brain is carried out.
#include <csignal>
#include <set>
#include <utility>

#include "agent/agent_loop.h"
#include "agent/machine.h"
#include "base/log.h"
#include "core/health/checks/hang_findings.h"
#include "core/node/environment.h"
#include "core/node/near_cores.h"

namespace keiko::agent {
namespace {

void warn_unless(const Done& outcome, const char* event, const WorkerKey& key) {
  if (!outcome.ok()) log_warn(event, "worker=" + to_text(key) + " why=" +
                                         quote_text(outcome.error().text()));
}

/// Full disk, no free port, folder that is not ours, a driver that says nonsense: another node may
/// do better.
bool is_nodes_fault(const Error& error) {
  return error.code == Code::kResourceExhausted || error.code == Code::kPermissionDenied ||
         error.code == Code::kDataLoss || error.code == Code::kInternal;
}

}  // namespace

// A message that cannot be sent is lost with its stream; the next session starts from a hello.
void AgentLoop::carry_out(const node::SendHello& effect) {
  const Done sent = link_->send(effect.hello);
  if (!sent.ok()) log_debug("hello_not_sent", sent.error().text());
}

void AgentLoop::carry_out(const node::SendReport& effect) {
  const Done sent = link_->send(effect.report);
  if (!sent.ok()) log_debug("report_not_sent", sent.error().text());
}

// Lost readings are no loss: the next ones are newer.
void AgentLoop::send_readings(const std::vector<Reading>& readings) {
  {
    const std::lock_guard lock(readings_mutex_);
    readings_ = readings;
  }
  static_cast<void>(link_->send(readings));
}

void AgentLoop::carry_out(const node::Spawn& effect) { admit(effect); }

void AgentLoop::start_now(const node::Spawn& effect) {
  const WorkerLaunch& launch = effect.launch;
  std::vector<std::string> uuids;
  for (const Device& device : launch.devices) uuids.push_back(device.uuid);
  Result<std::map<std::string, std::string>> visible = parts_.devices.visibility(uuids);
  if (!visible.ok()) return refuse_without_devices(launch, visible.error().message);
  const Done started = start_worker(effect, std::move(visible).value());
  look_now_ = true;
  if (started.ok()) return;
  const bool nodes_fault = is_nodes_fault(started.error());
  refuse(launch.key, nodes_fault ? EndCause::kNodeFailed : EndCause::kStartFailed,
         started.error().message);
}

/// The worker never ran, and this is why.
void AgentLoop::refuse(const WorkerKey& key, EndCause cause, const std::string& why) {
  WorkerReport report;
  report.key = key;
  report.status = WorkerStatus::kEnded;
  report.end.cause = cause;
  report.end.last_words = why;
  own_events_.push_back(node::WorkerChanged{std::move(report)});
}

Done AgentLoop::start_worker(const node::Spawn& effect,
                             std::map<std::string, std::string> visible) {
  const WorkerLaunch& launch = effect.launch;
  const WorkerPaths paths = worker_paths(parts_.folder.path(), launch.key);
  const int32_t own_port =
      effect.reserve_port ? TRY(parts_.substrate.reserve_port(launch.key)) : 0;
  node::NodeTerms terms;
  terms.node_name = spec().name;
  terms.socket_path = paths.socket;
  terms.master_port = own_port != 0 ? own_port : launch.master_port;
  // Of the agent's environment nothing holds in an image: no PATH, no home.
  if (launch.image.empty()) terms.base = options_.base_env;
  terms.devices = std::move(visible);
  node::WorkerEnvironment environment = node::environment_of(launch, terms);
  if (!environment.overridden.empty()) {
    log_info("environment_overridden", "worker=" + to_text(launch.key) + " by_user=" +
                                           join(environment.overridden, ","));
  }
  if (!environment.refused.empty()) {
    log_warn("environment_refused", "worker=" + to_text(launch.key) + " names=" +
                                        join(environment.refused, ",") +
                                        " why=\"Keiko alone sets them\"");
  }
  TRY(node::check_devices_told(launch, environment.variables));

  WorkerProcess process;
  process.key = launch.key;
  process.argv = launch.command;
  process.env = std::move(environment.variables);
  process.workdir = launch.workdir;
  process.cpu_milli = launch.cpu_milli;
  process.memory = launch.memory;
  process.cpus = cores_for(launch);
  for (const Device& device : launch.devices) {
    process.device_files.insert(process.device_files.end(), device.files.begin(),
                                device.files.end());
    // By which name the vendor's toolkit tells containers of it.
    if (device.vendor == "nvidia") process.device_names.push_back("nvidia.com/gpu=" + device.uuid);
  }
  process.image = launch.image;
  process.mounts = launch.mounts;
  process.log_limit = launch.log_limit;
  process.master_port = own_port;
  // Before the start, so that the program's first line finds somebody.
  warn_unless(sockets_->listen(launch.key, paths.socket), "worker_socket_failed", launch.key);
  set_logs_live(launch.key, true);
  const Done started = parts_.substrate.start(process);
  if (!started.ok()) {
    set_logs_live(launch.key, false);
    sockets_->forget(launch.key);
    return started;
  }
  ProcessState& known = known_[launch.key];
  known.key = launch.key;
  known.cpus = process.cpus;
  holders_.occupy(launch.key, launch.devices);
  return done();
}

/// RETURNS: empty for any.
std::vector<int32_t> AgentLoop::cores_for(const WorkerLaunch& launch) const {
  std::vector<int32_t> slots;
  for (const Device& device : launch.devices) {
    if (device.vendor == "cpu") slots.push_back(device.index);
  }
  const std::vector<int32_t> usable = parts_.usable_cores ? parts_.usable_cores() : usable_cores();
  if (!slots.empty()) {
    if (!options_.pin_cpu_slots || slots.size() != launch.devices.size()) return {};
    return cores_of_slots(usable, slots, static_cast<int32_t>(spec().devices.size()));
  }
  if (!options_.bind_near_devices) return {};
  std::set<int32_t> taken;
  for (const auto& [key, state] : known_) {
    if (state.status != WorkerStatus::kEnded) taken.insert(state.cpus.begin(), state.cpus.end());
  }
  return node::near_cores(spec(), usable, launch, taken);
}

void AgentLoop::carry_out(const node::SignalWorker& effect) {
  if (checks_ && checks_->drop(effect.key)) {
    WorkerReport report;
    report.key = effect.key;
    report.status = WorkerStatus::kEnded;
    report.end.cause = EndCause::kSignalled;  // the brain knows by whom
    report.end.signal = effect.signal;
    own_events_.push_back(node::WorkerChanged{std::move(report)});
    return;
  }
  const Done sent = parts_.substrate.signal(effect.key, effect.signal);
  look_now_ = true;
  // It may have ended a moment ago; its end is on the way.
  if (!sent.ok() && sent.error().code == Code::kNotFound) return;
  warn_unless(sent, "signal_failed", effect.key);
}

void AgentLoop::carry_out(const node::NoticeWorker& effect) {
  sockets_->notify(effect.key, effect.deadline, effect.why);
}

void AgentLoop::carry_out(const node::ForgetProcess& effect) {
  const Done forgotten = parts_.substrate.forget(effect.key);
  // A worker that was given up and is still there: its real end is told once more, and forgotten.
  if (!forgotten.ok() && forgotten.error().code == Code::kFailedPrecondition) return;
  if (checks_) checks_->drop(effect.key);
  holders_.vacate(effect.key);
  // A worker that could not be started is not known there.
  if (!forgotten.ok() && forgotten.error().code != Code::kNotFound) {
    warn_unless(forgotten, "forget_failed", effect.key);
  }
  sockets_->forget(effect.key);
  logs_->set_live(effect.key, false);
  known_.erase(effect.key);
}

/// The server learns that the devices are not to be had before it learns that the worker has ended.
void AgentLoop::carry_out(const node::GiveUp& effect) {
  log_error("worker_given_up", "worker=" + to_text(effect.key) + " why=" + quote_text(effect.why));
  health_->observe(health::observations_of(
      health::HangingProcess{effect.pid, holders_.of(effect.key),
                             effect.why + "; it belongs to worker " + to_text(effect.key)},
      here()));
  look_at_health(true);
}

void AgentLoop::carry_out(const node::WakeAt& effect) { wake_at_ = effect.at; }

void AgentLoop::carry_out(const node::Note& effect) { log_info(effect.name, effect.text); }

void AgentLoop::carry_out(const node::Quit& effect) { quit_why_ = effect.why; }

/// Tells the shims of a renewal, so that workers end in time even if this agent does not live to
/// see it. They wait a little longer than the brain, whose stop is the orderly one.
void AgentLoop::hold_lease() {
  const Time end = brain_.lease_end();
  if (end == lease_held_) return;
  lease_held_ = end;
  const Duration left = end - parts_.clock.now();
  const Done held = parts_.substrate.hold_lease(left, left - brain_.lease().kill_before * 3 / 4);
  if (!held.ok()) log_error("lease_not_held", held.error().text());
}

}  // namespace keiko::agent
