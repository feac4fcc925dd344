// Starting workers, and the one port at which a gang meets: the node of rank 0 reserves it for
// rank 0 and gives it to the gang's other ranks on that node; other nodes get it from the server.
#include "core/node/node_steps.h"

namespace keiko::node {
namespace {

/// How long a rank waits for rank 0, on this very node, to reserve the port. Rank 0's start comes
/// first as a rule; without it (it ended and is forgotten, say) the rank reserves one itself.
constexpr Duration kPortPatience = seconds(5);
/// Ports remembered after the attempts' workers are forgotten, for ranks that start late.
constexpr size_t kPortsKept = 4096;

}  // namespace

void NodeSteps::obey(const StartWorker& start) {
  const WorkerKey& key = start.launch.key;
  if (brain_.leaving_ || brain_.workers_.contains(key)) return;
  // What is started now must be stoppable before the lease ends.
  if (now_ >= brain_.lease_end_ - brain_.lease_.stop_before) return;
  NodeBrain::Worker& worker = brain_.workers_[key];
  worker.report.key = key;
  worker.grace = start.launch.grace;
  effects_.push_back(Note{"start_worker", to_text(key)});
  WorkerLaunch launch = start.launch;
  if (launch.master_port == 0) launch.master_port = known_port(key);
  if (launch.master_port == 0 && key.rank != 0) {
    worker.held = std::move(launch);
    worker.held_until = now_ + kPortPatience;
    return;
  }
  spawn(std::move(launch));
}

void NodeSteps::spawn(WorkerLaunch launch) {
  const bool reserve_port = launch.master_port == 0;
  effects_.push_back(Spawn{std::move(launch), reserve_port});
}

/// Starts the ranks that waited for the port, once it is known or patience is over.
void NodeSteps::release_held() {
  for (auto& [key, worker] : brain_.workers_) {
    if (!worker.held) continue;
    worker.held->master_port = known_port(key);
    if (worker.held->master_port == 0 && now_ < worker.held_until) continue;
    spawn(std::move(*worker.held));
    worker.held.reset();
  }
}

/// A rank that was never spawned ends without a signal.
void NodeSteps::end_held(NodeBrain::Worker& worker) {
  worker.held.reset();
  worker.report.status = WorkerStatus::kEnded;
  worker.report.end.cause = cause_of_stop(worker);
  news_ = true;
}

int32_t NodeSteps::known_port(const WorkerKey& key) const {
  const auto found = brain_.ports_.find({key.job, key.attempt});
  return found == brain_.ports_.end() ? 0 : found->second;
}

void NodeSteps::learn_port(const WorkerReport& report) {
  if (report.master_port == 0) return;
  brain_.ports_.try_emplace({report.key.job, report.key.attempt}, report.master_port);
  if (brain_.ports_.size() > kPortsKept) brain_.ports_.erase(brain_.ports_.begin());
}

}  // namespace keiko::node
