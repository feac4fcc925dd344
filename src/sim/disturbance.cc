#include "sim/disturbance.h"

namespace keiko::sim {

JobSpec random_job(Prng& prng, const SimOptions& options) {
  JobSpec spec;
  spec.name = "job-" + std::to_string(prng.below(1000));
  spec.user = "sim";
  spec.workdir = "/";
  const int64_t slots = int64_t{options.nodes} * options.devices_per_node;
  spec.devices = slots > 0 && prng.chance(2, 3) ? 1 : 0;
  const int64_t most = spec.devices > 0 ? slots : int64_t{options.nodes} * 4;
  spec.workers =
      static_cast<int32_t>(prng.between(1, std::max<int64_t>(1, std::min<int64_t>(most, 8))));
  spec.cpu_milli = spec.devices > 0 ? 1000 : prng.between(1, 4) * 250;
  spec.priority = static_cast<int32_t>(prng.below(3));
  spec.grace = seconds(prng.between(0, 10));
  spec.restarts = static_cast<int32_t>(prng.below(4));
  spec.infra_restarts = static_cast<int32_t>(prng.between(3, 200));
  Program program;
  program.run = milliseconds(prng.between(10, 90'000));
  if (prng.chance(1, 2)) program.checkpoint = milliseconds(prng.between(500, 15'000));
  if (prng.chance(1, 6)) program.fail_at = milliseconds(prng.between(10, program.run.millis()));
  if (prng.chance(1, 10)) program.exit_code = static_cast<int32_t>(prng.between(1, 255));
  program.stubborn = prng.chance(1, 8);
  program.cannot_start = prng.chance(1, 40);
  spec.command = command_of(program);
  return spec;
}

Disturbance::Disturbance(World& world) : world_(world) {
  for (int32_t i = 0; i < world.options().jobs; ++i) submit_later(i);
  const FaultOptions& faults = world.faults();
  repeat(faults.partition_every, &Disturbance::partition);
  repeat(faults.server_crash_every, &Disturbance::crash_server);
  repeat(faults.agent_crash_every, &Disturbance::crash_agent);
  repeat(faults.machine_crash_every, &Disturbance::crash_machine);
  repeat(faults.worker_kill_every, &Disturbance::kill_worker);
  repeat(faults.operator_every, &Disturbance::operate);
}

void Disturbance::submit_later(int32_t number) {
  const Duration when =
      milliseconds(world_.prng().between(0, world_.options().safety_phase.millis() * 3 / 4));
  world_.heap().after(when, [this, number] {
    world_.command(cluster::SubmitJob{random_job(world_.prng(), world_.options()),
                                      "token-" + std::to_string(number)});
  });
}

Duration Disturbance::around(Duration mean) {
  return nanoseconds(world_.prng().between(mean.ns / 10, mean.ns * 2));
}

void Disturbance::repeat(Duration mean, void (Disturbance::*fault)()) {
  if (mean.ns == 0) return;
  world_.heap().after(around(mean), [this, mean, fault] {
    if (healed_) return;
    (this->*fault)();
    repeat(mean, fault);
  });
}

SimMachine& Disturbance::some_machine() {
  return *world_.machines()[world_.prng().below(world_.machines().size())];
}

void Disturbance::partition() {
  SimMachine& machine = some_machine();
  if (machine.partitioned()) return;
  world_.trace("fault", "partition " + machine.spec().name);
  machine.set_partitioned(true);
  world_.heap().after(milliseconds(world_.prng().between(100, 40'000)), [this, &machine] {
    if (!machine.partitioned()) return;
    world_.trace("fault", "partition_ends " + machine.spec().name);
    machine.set_partitioned(false);
  });
}

void Disturbance::crash_server() {
  if (!world_.server().up()) return;
  world_.server().crash("kill -9");
  world_.heap().after(milliseconds(world_.prng().between(50, 30'000)), [this] {
    if (!world_.server().up()) world_.server().start();
  });
}

void Disturbance::crash_agent() {
  SimMachine& machine = some_machine();
  if (!machine.agent_up()) return;
  machine.crash_agent();
  world_.heap().after(milliseconds(world_.prng().between(50, 20'000)),
                      [&machine] { machine.start_agent(); });
}

void Disturbance::crash_machine() {
  SimMachine& machine = some_machine();
  machine.crash_machine();
  world_.heap().after(milliseconds(world_.prng().between(2'000, 60'000)),
                      [&machine] { machine.start_agent(); });
}

void Disturbance::kill_worker() { some_machine().kill_some_worker(world_.prng().next()); }

void Disturbance::operate() {
  if (!world_.server().up()) return;
  const State& state = world_.server().state();
  const uint64_t what = world_.prng().below(8);
  if (what < 4 && !state.nodes.empty()) {
    const NodeId node{1 + world_.prng().below(state.nodes.size())};
    world_.command(cluster::ActOnNode{node, static_cast<cluster::NodeAction>(what), "by hand"});
  } else if (what >= 4 && !state.jobs.empty()) {
    const JobId job{1 + world_.prng().below(state.jobs.size())};
    world_.command(cluster::ActOnJob{job, static_cast<cluster::JobAction>(what - 4), "by hand"});
  }
}

void Disturbance::heal() {
  healed_ = true;
  FaultOptions& faults = world_.faults();
  faults = FaultOptions{};
  world_.trace("fault", "heal");
  if (!world_.server().up()) world_.server().start();
  for (auto& machine : world_.machines()) {
    machine->set_partitioned(false);
    machine->start_agent();
  }
  // Commands in flight must come first, or a late cordon would follow the uncordon.
  world_.heap().after(seconds(30), [this] {
    for (const auto& [id, node] : world_.server().state().nodes) {
      world_.command(cluster::ActOnNode{id, cluster::NodeAction::kUncordon, "heal"});
    }
    for (const auto& [id, job] : world_.server().state().jobs) {
      if (job.held) world_.command(cluster::ActOnJob{id, cluster::JobAction::kRelease, "heal"});
    }
  });
}

}  // namespace keiko::sim
