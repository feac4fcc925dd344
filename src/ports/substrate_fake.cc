#include "ports/substrate_fake.h"

#include <csignal>
#include <cstdlib>

namespace keiko {

FakeMachine::FakeMachine() {
  install("sleep", {});
  install("exit", {.steps = 1});
  install("print", {.steps = 1});
  install("ignore-term", {.ignores_term = true});
  install("vanish", {.steps = 1, .vanishes = true});
}

void FakeMachine::install(const std::string& argv0, const FakeProgram& program) {
  programs_[argv0] = program;
}

FakeProgram FakeMachine::program_of(const WorkerProcess& process, bool& exists) const {
  const auto it = programs_.find(process.argv[0]);
  exists = it != programs_.end();
  if (!exists) return {};
  FakeProgram program = it->second;
  if (process.argv.size() > 1) {
    if (process.argv[0] == "exit") program.exit_code = std::atoi(process.argv[1].c_str());
    if (process.argv[0] == "print") program.output = process.argv[1];
  }
  return program;
}

void FakeMachine::end(Worker& worker, EndCause cause, int32_t exit_code, int32_t signal) {
  worker.state.status = WorkerStatus::kEnded;
  worker.state.end.cause = cause;
  worker.state.end.exit_code = exit_code;
  worker.state.end.signal = signal;
  worker.state.end.ran = milliseconds(worker.steps_done);
}

void FakeMachine::step(Worker& worker) {
  if (worker.state.status == WorkerStatus::kEnded) return;
  if (!worker.exists) {
    end(worker, EndCause::kStartFailed, 0, 0);
    worker.state.end.last_words = "cannot run '" + worker.argv0 + "': No such file or directory";
    return;
  }
  if (worker.state.status == WorkerStatus::kStarting) {
    worker.state.status = WorkerStatus::kRunning;
    worker.state.pid = next_pid_++;
    outputs_[worker.state.key] += worker.program.output;
    return;
  }
  if (worker.hangs) return;
  ++worker.steps_done;
  if (worker.signal != 0) return end(worker, EndCause::kSignalled, 0, worker.signal);
  if (worker.program.steps < 0 || worker.steps_done < worker.program.steps) return;
  if (worker.program.vanishes) return end(worker, EndCause::kVanished, 0, 0);
  end(worker, EndCause::kExited, worker.program.exit_code, 0);
}

void FakeMachine::advance() {
  for (auto& [key, worker] : workers_) step(worker);
}

void FakeMachine::vanish(const WorkerKey& key) {
  const auto it = workers_.find(key);
  CHECK(it != workers_.end());
  end(it->second, EndCause::kVanished, 0, 0);
}

void FakeMachine::hang(const WorkerKey& key) {
  const auto it = workers_.find(key);
  CHECK(it != workers_.end());
  it->second.hangs = true;
}

void FakeMachine::unhang(const WorkerKey& key) {
  const auto it = workers_.find(key);
  CHECK(it != workers_.end());
  it->second.hangs = false;
  it->second.state.hanging.clear();
}

std::string FakeMachine::output(const WorkerKey& key) const {
  const auto it = outputs_.find(key);
  return it == outputs_.end() ? std::string() : it->second;
}

Done FakeSubstrate::start(const WorkerProcess& process) {
  if (process.argv.empty()) return invalid_argument("a worker needs a command; argv is empty");
  if (machine_.workers_.count(process.key) != 0) {
    return already_exists("worker " + to_text(process.key) + " was started before");
  }
  FakeMachine::Worker worker;
  worker.state.key = process.key;
  worker.state.master_port = process.master_port;
  worker.state.cpus = process.cpus;
  worker.program = machine_.program_of(process, worker.exists);
  worker.argv0 = process.argv[0];
  machine_.workers_.emplace(process.key, std::move(worker));
  return done();
}

Done FakeSubstrate::signal(const WorkerKey& key, int signal) {
  const auto it = machine_.workers_.find(key);
  if (it == machine_.workers_.end() || it->second.state.status == WorkerStatus::kEnded) {
    return not_found("no worker " + to_text(key) + " runs here");
  }
  FakeMachine::Worker& worker = it->second;
  const bool ends = signal == SIGKILL || (signal == SIGTERM && !worker.program.ignores_term);
  if (ends && worker.signal != SIGKILL) worker.signal = signal;
  if (worker.hangs && signal == SIGKILL) worker.state.hanging = {worker.state.pid};
  return done();
}

std::vector<ProcessState> FakeSubstrate::poll() {
  std::vector<ProcessState> states;
  for (const auto& [key, worker] : machine_.workers_) states.push_back(worker.state);
  return states;
}

Done FakeSubstrate::forget(const WorkerKey& key) {
  const auto it = machine_.workers_.find(key);
  if (it == machine_.workers_.end()) {
    if (machine_.ports_.erase(key) != 0) return done();
    return not_found("worker " + to_text(key) + " is not known here");
  }
  if (it->second.state.status != WorkerStatus::kEnded) {
    return failed_precondition("worker " + to_text(key) + " still runs; stop it first");
  }
  machine_.workers_.erase(it);
  machine_.ports_.erase(key);
  return done();
}

Result<int32_t> FakeSubstrate::reserve_port(const WorkerKey& key) {
  const auto known = machine_.ports_.find(key);
  if (known != machine_.ports_.end()) return known->second;
  std::set<int32_t> taken;
  for (const auto& [owner, port] : machine_.ports_) taken.insert(port);
  int32_t port = 20'000;
  while (taken.count(port) != 0) ++port;
  machine_.ports_[key] = port;
  return port;
}

Done FakeSubstrate::hold_lease(Duration ends_in, Duration /*kill_in*/) {
  machine_.lease_ = ends_in;
  return done();
}

std::optional<Duration> FakeSubstrate::lease_left() { return machine_.lease_; }

}  // namespace keiko
