#include "sim/sim_machine.h"

#include <csignal>

#include "sim/world.h"

namespace keiko::sim {

SimMachine::SimMachine(World& world, int32_t index, NodeSpec spec, DriftClock clock)
    : world_(world), index_(index), spec_(std::move(spec)), clock_(clock) {}

Time SimMachine::local_now() const { return clock_.local(world_.heap().now()); }

void SimMachine::start_agent() {
  if (agent_up()) return;
  ++agent_generation_;
  connection_ = 0;
  brain_.emplace(spec_, LeaseOptions{});
  world_.trace(spec_.name, "agent_up");
  node::Adopted adopted;
  for (const auto& [key, process] : processes_) adopted.workers.push_back(process.report);
  adopted.lease_end = saved_lease_end_;
  feed(std::move(adopted));
  try_connect();
  watch_silence();
}

void SimMachine::crash_agent() {
  if (!agent_up()) return;
  world_.trace("fault", "agent_crash " + spec_.name);
  brain_.reset();
  ++agent_generation_;
  if (connection_ != 0) world_.break_connection(index_, std::exchange(connection_, 0));
  guard_orphans();
}

// The shims know the lease, too: what an agent that died cannot stop, they kill before the server
// gives the devices away.
void SimMachine::guard_orphans() {
  if (!saved_lease_end_) return;
  const Time lease_end = *saved_lease_end_;
  world_.heap().at(clock_.virtual_at(lease_end - LeaseOptions{}.kill_before), [this, lease_end] {
    if (saved_lease_end_ != lease_end) return;
    WorkerEnd end;
    end.cause = EndCause::kLeaseEnded;
    end.signal = SIGKILL;
    std::vector<std::pair<WorkerKey, uint64_t>> live;
    for (const auto& [key, process] : processes_) {
      if (process.live) live.emplace_back(key, process.generation);
    }
    for (const auto& [key, generation] : live) end_process(key, generation, end);
  });
}

void SimMachine::crash_machine() {
  world_.trace("fault", "machine_crash " + spec_.name);
  if (agent_up()) {
    brain_.reset();
    ++agent_generation_;
    if (connection_ != 0) world_.break_connection(index_, std::exchange(connection_, 0));
  }
  for (auto& [key, process] : processes_) {
    if (!process.live) continue;
    process.live = false;
    world_.each_checker([&](Checker& c) { c.process_ended({key, spec_.name, process.launch}); });
  }
  processes_.clear();
  saved_lease_end_.reset();
  spec_.boot_id = "boot-" + std::to_string(++boots_);
}

bool SimMachine::kill_some_worker(uint64_t choice) {
  std::vector<WorkerKey> live;
  for (const auto& [key, process] : processes_) {
    if (process.live) live.push_back(key);
  }
  if (live.empty()) return false;
  const WorkerKey key = live[choice % live.size()];
  return kill_worker(key.job, key.rank);
}

bool SimMachine::kill_worker(JobId job, int32_t rank) {
  for (auto& [key, process] : processes_) {
    if (key.job != job || key.rank != rank || !process.live) continue;
    world_.trace("fault", "worker_killed " + to_text(key));
    WorkerEnd end;
    end.cause = EndCause::kSignalled;
    end.signal = SIGKILL;
    end_process(key, process.generation, end);
    return true;
  }
  return false;
}

void SimMachine::receive(uint64_t connection, const ServerMessage& message) {
  if (!agent_up() || connection != connection_) return;
  last_heard_ = world_.heap().now();
  feed(node::FromServer{message});
}

void SimMachine::connection_broken(uint64_t connection) {
  if (connection == 0 || connection != connection_) return;
  connection_ = 0;
  if (agent_up()) feed(node::Disconnected{});
}

void SimMachine::try_connect() {
  const uint64_t generation = agent_generation_;
  world_.heap().after(milliseconds(world_.prng().between(20, 500)), [this, generation] {
    if (generation != agent_generation_ || quit_) return;
    if (connection_ == 0) {
      connection_ = world_.connect(index_);
      last_heard_ = world_.heap().now();
      if (connection_ != 0) feed(node::Connected{});
    }
    try_connect();
  });
}

// A stream whose other end says nothing is given up: half-open connections are a fact of life.
void SimMachine::watch_silence() {
  const uint64_t generation = agent_generation_;
  world_.heap().after(seconds(1), [this, generation] {
    if (generation != agent_generation_) return;
    if (connection_ != 0 && world_.heap().now() - last_heard_ > seconds(5)) {
      const uint64_t connection = std::exchange(connection_, 0);
      world_.break_connection(index_, connection);
      feed(node::Disconnected{});
    }
    if (generation == agent_generation_) watch_silence();
  });
}

void SimMachine::feed(node::EventBody body) {
  if (!agent_up()) return;
  const uint64_t generation = agent_generation_;
  const node::Effects effects = brain_->step(node::Event{local_now(), std::move(body)});
  if (brain_->lease_end().ns != 0) saved_lease_end_ = brain_->lease_end();
  for (const node::Effect& effect : effects) {
    if (generation != agent_generation_) return;
    carry_out(effect);
  }
}

void SimMachine::carry_out(const node::Effect& effect) {
  const uint64_t generation = agent_generation_;
  if (const auto* hello = std::get_if<node::SendHello>(&effect)) {
    world_.to_server(index_, connection_, cluster::HelloReceived{connection_, hello->hello});
  } else if (const auto* report = std::get_if<node::SendReport>(&effect)) {
    world_.to_server(index_, connection_, cluster::ReportReceived{connection_, report->report});
  } else if (const auto* start = std::get_if<node::Spawn>(&effect)) {
    spawn(start->launch, start->reserve_port);
  } else if (const auto* sent = std::get_if<node::SignalWorker>(&effect)) {
    signal(sent->key, sent->signal);
  } else if (const auto* forget = std::get_if<node::ForgetProcess>(&effect)) {
    const auto found = processes_.find(forget->key);
    if (found != processes_.end() && !found->second.live) processes_.erase(found);
  } else if (const auto* wake = std::get_if<node::WakeAt>(&effect)) {
    world_.heap().at(clock_.virtual_at(wake->at), [this, generation] {
      if (generation == agent_generation_) feed(node::Wake{});
    });
  } else if (const auto* note = std::get_if<node::Note>(&effect)) {
    world_.trace(spec_.name, note->name + (note->text.empty() ? "" : " ") + note->text);
  } else if (const auto* quit = std::get_if<node::Quit>(&effect)) {
    world_.trace(spec_.name, "agent_quit " + quit->why);
    quit_ = true;
  }
}

void SimMachine::spawn(const WorkerLaunch& launch, bool reserve_port) {
  if (processes_.contains(launch.key)) return;
  Process& process = processes_[launch.key];
  process.launch = launch;
  process.program = parse_program(launch.command).value_or(Program{});
  process.report.key = launch.key;
  process.generation = next_generation_++;
  if (reserve_port) process.report.master_port = next_port_++;
  const WorkerKey key = launch.key;
  const uint64_t generation = process.generation;
  if (process.program.cannot_start) {
    WorkerEnd end;
    end.cause = EndCause::kStartFailed;
    end.last_words = "cannot run 'sim': No such file or directory";
    process.report.status = WorkerStatus::kEnded;
    process.report.end = end;
    tell_agent(process);
    return;
  }
  process.live = true;
  world_.each_checker([&](Checker& c) { c.process_started({key, spec_.name, launch}, spec_); });
  world_.heap().after(milliseconds(world_.prng().between(1, 20)),
                      [this, key, generation] { run_process(key, generation); });
}

SimMachine::Process* SimMachine::live_process(const WorkerKey& key, uint64_t generation) {
  const auto found = processes_.find(key);
  if (found == processes_.end() || !found->second.live) return nullptr;
  return found->second.generation == generation ? &found->second : nullptr;
}

void SimMachine::run_process(const WorkerKey& key, uint64_t generation) {
  Process* process = live_process(key, generation);
  if (process == nullptr) return;
  process->report.status = WorkerStatus::kRunning;
  process->report.pid = next_pid_++;
  process->began = world_.heap().now();
  uint64_t resumed_ms = 0;
  const std::string& ref = process->launch.resume_from;
  if (parse_digits(std::string_view(ref).substr(ref.rfind('-') + 1), resumed_ms)) {
    process->resumed_at = milliseconds(static_cast<int64_t>(resumed_ms));
  }
  const Program& program = process->program;
  Duration until = program.run;
  WorkerEnd end;
  end.cause = EndCause::kExited;
  end.exit_code = program.exit_code;
  if (program.fail_at.ns > 0 && key.attempt == 1) {
    until = program.fail_at;
    end.exit_code = 1;
    end.last_words = "RuntimeError: planned failure";
  }
  const Duration left = std::max(until - process->resumed_at, milliseconds(1));
  world_.heap().after(left, [this, key, generation, end] { end_process(key, generation, end); });
  if (program.checkpoint.ns > 0 && key.rank == 0) schedule_checkpoints(key, generation);
  tell_agent(*process);
}

void SimMachine::schedule_checkpoints(const WorkerKey& key, uint64_t generation) {
  Process* process = live_process(key, generation);
  if (process == nullptr) return;
  world_.heap().after(process->program.checkpoint, [this, key, generation] {
    Process* writer = live_process(key, generation);
    if (writer == nullptr) return;
    const Duration done = writer->resumed_at + (world_.heap().now() - writer->began);
    const CheckpointMark mark{done.millis(), "ckpt-" + std::to_string(done.millis())};
    writer->report.checkpoint = mark;
    world_.each_checker([&](Checker& c) { c.checkpoint_written(key.job, mark); });
    feed(node::WorkerSaid{key, std::nullopt, mark});
    schedule_checkpoints(key, generation);
  });
}

void SimMachine::signal(const WorkerKey& key, int number) {
  const auto found = processes_.find(key);
  if (found == processes_.end() || !found->second.live) return;
  const Process& process = found->second;
  if (number == SIGTERM && process.program.stubborn) return;
  const Duration takes = number == SIGKILL ? milliseconds(world_.prng().between(1, 50))
                                           : milliseconds(world_.prng().between(1, 1500));
  WorkerEnd end;
  end.cause = EndCause::kSignalled;
  end.signal = number;
  world_.heap().after(takes, [this, key, generation = process.generation, end] {
    end_process(key, generation, end);
  });
}

void SimMachine::end_process(const WorkerKey& key, uint64_t generation, WorkerEnd end) {
  Process* process = live_process(key, generation);
  if (process == nullptr) return;
  process->live = false;
  end.ran = world_.heap().now() - process->began;
  process->report.status = WorkerStatus::kEnded;
  process->report.end = std::move(end);
  world_.each_checker([&](Checker& c) { c.process_ended({key, spec_.name, process->launch}); });
  tell_agent(*process);
}

void SimMachine::tell_agent(const Process& process) {
  feed(node::WorkerChanged{process.report});
}

}  // namespace keiko::sim
