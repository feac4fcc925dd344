// Snapshot, digest, and the check of the tables among themselves.
#include <utility>

#include "core/state/derived.h"

namespace keiko {
namespace {

constexpr char kSnapshotVersion = 1;

Done unsound(const std::string& text) { return internal_error("state: " + text); }

/// Placements must name nodes and devices that exist before anything is computed from them.
Done check_places(const State& state) {
  for (const auto& [id, job] : state.jobs) {
    if (job.id != id) return unsound(to_text(id) + " is filed as another job");
    const bool placed = is_placed(job.status);
    if (placed && job.workers.size() != static_cast<size_t>(job.spec.workers)) {
      return unsound(to_text(id) + "'s gang is not whole");
    }
    for (const WorkerState& worker : job.workers) {
      const auto node = state.nodes.find(worker.place.node);
      if (node == state.nodes.end()) return unsound(to_text(id) + " runs on a node that is not there");
      if (worker.status == WorkerStatus::kEnded) continue;
      if (!placed) return unsound(to_text(id) + " holds a worker and is not placed");
      if (node->second.lost) return unsound(to_text(id) + " runs on the lost " + node->second.spec.name);
      for (const int32_t device : worker.place.devices) {
        if (device < 0 || static_cast<size_t>(device) >= node->second.spec.devices.size()) {
          return unsound(to_text(id) + " holds a device that is not there");
        }
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
  if (kept.cpu_taken_milli > kept.spec.cpu_milli || kept.memory_taken > kept.spec.memory) {
    return unsound(kept.spec.name + " gives more than it has");
  }
  return done();
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
  for (const auto& [id, node] : state.nodes) {
    if (node.id != id) return data_loss("the snapshot files a node under another id");
  }
  if (const Done sound = check_places(state); !sound.ok()) return data_loss(sound.error().message);
  rebuild_derived(state);
  return state;
}

Digest digest_of(const State& state) { return digest_of(encode_state(state)); }

Done check_state(const State& state) {
  TRY(check_places(state));
  TRY(check_devices_once(state));
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
