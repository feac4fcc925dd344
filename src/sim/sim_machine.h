// One simulated machine: a node brain (the agent), the processes it started, which outlive it, and
// a clock that runs at its own rate. The machine carries effects out; what it decides is the
// brain's.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/node/node_brain.h"
#include "sim/event_heap.h"
#include "sim/program.h"

namespace keiko::sim {

class World;

class SimMachine {
 public:
  SimMachine(World& world, int32_t index, NodeSpec spec, DriftClock clock);

  const NodeSpec& spec() const { return spec_; }
  bool agent_up() const { return brain_.has_value(); }
  bool partitioned() const { return partitioned_; }
  void set_partitioned(bool partitioned) { partitioned_ = partitioned; }
  uint64_t connection() const { return connection_; }

  void start_agent();
  /// kill -9 of the agent: processes run on.
  void crash_agent();
  /// The power goes: agent and processes are gone without a word; `start_agent` boots it again.
  void crash_machine();
  /// SIGKILL from outside to one live process, chosen by `choice`. RETURNS: whether there was one.
  bool kill_some_worker(uint64_t choice);
  bool kill_worker(JobId job, int32_t rank);

  void receive(uint64_t connection, const ServerMessage& message);
  /// The stream broke, as seen from this side.
  void connection_broken(uint64_t connection);

 private:
  struct Process {
    WorkerLaunch launch;
    Program program;
    WorkerReport report;
    uint64_t generation = 0;
    bool live = false;
    Time began;               ///< virtual time at which the work began
    Duration resumed_at;      ///< work done before this attempt
  };

  void feed(node::EventBody body);
  void carry_out(const node::Effect& effect);
  void try_connect();
  void watch_silence();
  void guard_orphans();
  void spawn(const WorkerLaunch& launch, bool reserve_port);
  void run_process(const WorkerKey& key, uint64_t generation);
  void schedule_checkpoints(const WorkerKey& key, uint64_t generation);
  void signal(const WorkerKey& key, int signal);
  void end_process(const WorkerKey& key, uint64_t generation, WorkerEnd end);
  void tell_agent(const Process& process);
  Process* live_process(const WorkerKey& key, uint64_t generation);
  Time local_now() const;

  World& world_;
  int32_t index_;
  NodeSpec spec_;
  DriftClock clock_;
  std::optional<node::NodeBrain> brain_;
  uint64_t agent_generation_ = 0;
  uint64_t connection_ = 0;       ///< 0: none
  Time last_heard_;               ///< virtual time of the last server message
  bool partitioned_ = false;
  bool quit_ = false;
  std::optional<Time> saved_lease_end_;
  std::map<WorkerKey, Process> processes_;
  uint64_t next_generation_ = 1;
  int64_t next_pid_ = 100;
  int32_t next_port_ = 20000;
  int32_t boots_ = 1;
};

}  // namespace keiko::sim
