// Snapshot, digest, and the check of the tables among themselves.
#include <utility>

#include "core/state/derived.h"

namespace keiko {
namespace {

constexpr char kSnapshotVersion = 1;

Done unsound(const std::string& text) { return internal_error("state: " + text); }

/// Counters of a job grow by one per event; beyond this somebody else wrote the bytes.
constexpr int32_t kMostCounted = 1 << 30;

bool in_count(int32_t value) { return value >= 0 && value <= kMostCounted; }

Done check_nodes(const State& state) {
  std::set<std::string> names;
  for (const auto& [id, node] : state.nodes) {
    if (node.id != id || id.number == 0 || id.number >= state.next_node) {
      return unsound(to_text(id) + " is filed as another node or beyond the counter");
    }
    if (!names.insert(node.spec.name).second) return unsound(node.spec.name + " is two nodes");
    TRY(check_lawful("node", node.spec));
  }
  return done();
}

Done check_job(const JobState& job) {
  const std::string name = to_text(job.id);
  TRY(check_lawful("job", job.spec));
  if (job.status < JobStatus::kPending || job.status > JobStatus::kCancelled) {
    return unsound(name + " has a status that does not exist");
  }
  if (!in_count(job.attempt) || !in_count(job.user_faults) || !in_count(job.infra_faults)) {
    return unsound(name + " has a count that cannot be");
  }
  if (is_placed(job.status) && job.workers.size() != static_cast<size_t>(job.spec.workers)) {
    return unsound(name + "'s gang is not whole");
  }
  const bool waits = job.status == JobStatus::kPending || job.status == JobStatus::kSuspended;
  if (waits && !job.workers.empty()) return unsound(name + " waits and holds workers");
  if (is_final(job.status) && job.held) return unsound(name + " has ended and is held");
  return done();
}

/// Placements must name nodes and devices that exist before anything is computed from them.
Done check_place(const State& state, const JobState& job, size_t rank) {
  const WorkerState& worker = job.workers[rank];
  const std::string name = to_text(job.id);
  if (worker.place.rank != static_cast<int32_t>(rank))
    return unsound(name + "'s ranks are not in order");
  const auto node = state.nodes.find(worker.place.node);
  if (node == state.nodes.end()) return unsound(name + " runs on a node that is not there");
  if (worker.status == WorkerStatus::kEnded) return done();
  if (!is_placed(job.status)) return unsound(name + " holds a worker and is not placed");
  if (node->second.lost) return unsound(name + " runs on the lost " + node->second.spec.name);
  for (const int32_t device : worker.place.devices) {
    if (device < 0 || static_cast<size_t>(device) >= node->second.spec.devices.size()) {
      return unsound(name + " holds a device that is not there");
    }
  }
  return done();
}

Done check_jobs(const State& state) {
  std::set<std::string> tokens;
  for (const auto& [id, job] : state.jobs) {
    if (job.id != id || id.number == 0 || id.number >= state.next_job) {
      return unsound(to_text(id) + " is filed as another job or beyond the counter");
    }
    if (!job.token.empty() && !tokens.insert(job.token).second) {
      return unsound(to_text(id) + " has the token of another job");
    }
    TRY(check_job(job));
    for (size_t rank = 0; rank < job.workers.size(); ++rank) TRY(check_place(state, job, rank));
  }
  return done();
}

/// No node gives more cpu or memory than it has. Subtracts from what is left, which cannot
/// overflow.
Done check_room(const State& state) {
  std::map<NodeId, std::pair<int64_t, int64_t>> left;
  for (const auto& [id, node] : state.nodes)
    left[id] = {node.spec.cpu_milli, node.spec.memory.count};
  for (const auto& [id, job] : state.jobs) {
    for (const WorkerState& worker : job.workers) {
      if (worker.status == WorkerStatus::kEnded) continue;
      auto& [cpu_milli, memory] = left.at(worker.place.node);
      cpu_milli -= job.spec.cpu_milli;
      memory -= job.spec.memory.count;
      if (cpu_milli < 0 || memory < 0) {
        return unsound(to_text(worker.place.node) + " gives more than it has");
      }
    }
  }
  return done();
}

/// No device is held by two workers.
Done check_devices_once(const State& state) {
  std::set<std::pair<NodeId, int32_t>> held;
  for (const auto& [id, job] : state.jobs) {
    for (const WorkerState& worker : job.workers) {
      if (worker.status == WorkerStatus::kEnded) continue;
      for (const int32_t device : worker.place.devices) {
        if (!held.emplace(worker.place.node, device).second) {
          return unsound("device " + std::to_string(device) + " of " + to_text(worker.place.node) +
                         " is given twice");
        }
      }
    }
  }
  return done();
}

Done check_node(const NodeState& kept, const NodeState& right) {
  const bool same = kept.device_taken == right.device_taken &&
                    kept.cpu_taken_milli == right.cpu_taken_milli &&
                    kept.memory_taken == right.memory_taken &&
                    kept.worker_count == right.worker_count;
  if (!same) return unsound(kept.spec.name + "'s capacity does not follow from the jobs");
  return done();
}

/// What is stored, among itself; what follows from it can be computed only if this holds.
Done check_tables(const State& state) {
  TRY(check_nodes(state));
  TRY(check_jobs(state));
  TRY(check_devices_once(state));
  return check_room(state);
}

}  // namespace

std::string encode_state(const State& state) {
  return std::string(1, kSnapshotVersion) + encode(state);
}

Result<State> decode_state(std::string_view bytes) {
  if (bytes.empty() || bytes[0] != kSnapshotVersion) {
    return data_loss("the snapshot is of a version that this program does not read");
  }
  State state = TRY(decode<State>(bytes.substr(1)));
  if (const Done sound = check_tables(state); !sound.ok()) {
    return data_loss("the snapshot is damaged: " + sound.error().message);
  }
  rebuild_derived(state);
  return state;
}

Digest digest_of(const State& state) { return digest_of(encode_state(state)); }

Done check_state(const State& state) {
  TRY(check_tables(state));
  State right = state;
  rebuild_derived(right);
  if (right.pending != state.pending || right.active != state.active ||
      right.node_by_name != state.node_by_name || right.job_by_token != state.job_by_token) {
    return unsound("an index does not follow from the tables");
  }
  for (const auto& [id, node] : state.nodes) TRY(check_node(node, right.nodes.at(id)));
  return done();
}

}  // namespace keiko
