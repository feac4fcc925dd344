// A gang is started, stopped and healed as one.
#include <algorithm>

#include "core/cluster/brain_steps.h"

namespace keiko::cluster {
namespace {

/// As much as the model promises of a worker's last words, whatever an agent sends.
constexpr size_t kMostLastWords = 2048;

WorkerKey key_of(const JobState& gang, const WorkerState& worker) {
  return {gang.id, gang.attempt, worker.place.rank};
}

/// The gang's nodes in the order in which ranks visit them.
std::vector<NodeId> nodes_of(const JobState& gang) {
  std::vector<NodeId> nodes;
  for (const WorkerState& worker : gang.workers) {
    if (std::find(nodes.begin(), nodes.end(), worker.place.node) == nodes.end()) {
      nodes.push_back(worker.place.node);
    }
  }
  return nodes;
}

void place_in_world(const State& state, const JobState& gang, const WorkerState& worker,
                    WorkerLaunch& launch) {
  const std::vector<NodeId> nodes = nodes_of(gang);
  launch.world_size = static_cast<int32_t>(gang.workers.size());
  launch.group_world_size = static_cast<int32_t>(nodes.size());
  launch.local_world_size = 0;
  launch.ranks_per_node.assign(nodes.size(), 0);
  for (const WorkerState& other : gang.workers) {
    const auto at = std::find(nodes.begin(), nodes.end(), other.place.node) - nodes.begin();
    ++launch.ranks_per_node[static_cast<size_t>(at)];
    if (other.place.node != worker.place.node) continue;
    if (other.place.rank < worker.place.rank) ++launch.local_rank;
    ++launch.local_world_size;
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeSpec& spec = state.nodes.at(nodes[i]).spec;
    launch.node_names.push_back(spec.name);
    launch.node_addresses.push_back(spec.address);
    if (nodes[i] == worker.place.node) launch.group_rank = static_cast<int32_t>(i);
  }
}

}  // namespace

WorkerLaunch launch_of(const State& state, const JobState& gang, const WorkerState& worker) {
  const JobSpec& spec = gang.spec;
  WorkerLaunch launch;
  launch.key = key_of(gang, worker);
  launch.job_name = spec.name;
  launch.user = spec.user;
  launch.command = spec.command;
  launch.env = spec.env;
  launch.workdir = spec.workdir;
  const std::vector<Device>& devices = state.nodes.at(worker.place.node).spec.devices;
  for (const int32_t index : worker.place.devices) {
    launch.devices.push_back(devices[static_cast<size_t>(index)]);
  }
  launch.cpu_milli = spec.cpu_milli;
  launch.memory = spec.memory;
  launch.grace = spec.grace;
  launch.log_limit = spec.log_limit;
  launch.slurm_env = spec.slurm_env;
  launch.checkpoint_dir = spec.checkpoint_dir;
  launch.image = spec.image;
  launch.mounts = spec.mounts;
  launch.resume_from = gang.checkpoint.ref;
  launch.restarts_left = allowed_restarts(spec) - gang.user_faults;
  launch.master_address = gang.master_address;
  launch.master_port = worker.place.node == gang.workers[0].place.node ? 0 : gang.master_port;
  place_in_world(state, gang, worker, launch);
  return launch;
}

// Rank 0's node first: it reserves the rendezvous port and reports it; the other nodes are told to
// start once the port is durable.
void BrainSteps::start_workers(const JobState& gang) {
  for (const WorkerState& worker : gang.workers) {
    if (worker.status == WorkerStatus::kStarting) start_worker(gang, worker);
  }
}

void BrainSteps::start_worker(const JobState& gang, const WorkerState& worker) {
  const NodeId node = worker.place.node;
  if (node != gang.workers[0].place.node && gang.master_port == 0) return;
  Time& sent = brain_.wanted_[node][key_of(gang, worker)];
  if (sent.ns != 0 && now_ - sent < brain_.state_.lease.heartbeat) return;
  sent = now_;
  send(node, StartWorker{launch_of(brain_.state_, gang, worker)});
}

void BrainSteps::stop(JobId id, StopIntent intent, Reason reason, const std::string& why) {
  if (!commit(JobStopping{id, job(id)->attempt, intent, reason, why})) return;
  touched_.insert(id);
  for (const WorkerState& worker : job(id)->workers) {
    if (worker.status != WorkerStatus::kEnded) stop_worker(*job(id), worker);
  }
}

void BrainSteps::stop_worker(const JobState& gang, const WorkerState& worker) {
  const NodeId node = worker.place.node;
  const WorkerKey key = key_of(gang, worker);
  brain_.wanted_[node][key] = now_;
  const bool wounded = gang.intent == StopIntent::kRestart;
  const Duration grace = wounded ? std::min(gang.spec.grace, kWoundedGrace) : gang.spec.grace;
  send(node, StopWorker{key, grace, gang.message});
}

void BrainSteps::end_worker(const WorkerKey& key, WorkerEnd end) {
  const NodeId node = job(key.job)->workers[static_cast<size_t>(key.rank)].place.node;
  std::string& words = end.last_words;
  if (words.size() > kMostLastWords) words.erase(0, words.size() - kMostLastWords);
  if (!commit(WorkerEnded{key, std::move(end)})) return;
  brain_.wanted_[node].erase(key);
  brain_.progress_.erase(key);
  brain_.schedule_wanted_ = true;
  touched_.insert(key.job);
  if (brain_.state_.nodes.at(node).worker_count == 0) adopt_hardware(node);
}

void BrainSteps::adopt_hardware(NodeId node) {
  NodeSight& sight = brain_.sights_[node];
  if (!sight.awaited) return;
  NodeJoined joined{node, std::move(*sight.awaited)};
  sight.awaited.reset();
  commit(std::move(joined));
}

void BrainSteps::settle_touched() {
  while (!touched_.empty()) {
    const JobId id = *touched_.begin();
    touched_.erase(touched_.begin());
    settle(id);
  }
}

void BrainSteps::settle(JobId id) {
  const JobState& gang = *job(id);
  if (!is_placed(gang.status)) return;
  bool wounded = std::any_of(gang.workers.begin(), gang.workers.end(), ended_badly);
#ifdef KEIKO_BUG_WOUNDED_GANG_RUNS_ON
  wounded = false;
#endif
  if (wounded && gang.intent == StopIntent::kNone) {
    const Blame blame = blame_of(brain_.state_, gang);
    stop(id, StopIntent::kRestart, blame.reason, blame.sentence);
  }
  const bool all_ended = std::all_of(gang.workers.begin(), gang.workers.end(), [](const auto& w) {
    return w.status == WorkerStatus::kEnded;
  });
  if (all_ended) conclude(gang);
}

}  // namespace keiko::cluster
