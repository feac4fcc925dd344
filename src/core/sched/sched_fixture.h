// Small pools and jobs for the scheduler's tests and benches; states are filled in directly, so
// that a test says what the scheduler sees and nothing else.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/sched/schedule.h"
#include "core/state/tables.h"

namespace keiko::sched {

/// Adds a node with `count` devices of `kind`, 16 GiB each, 4 cores and 32 GiB per device.
inline NodeState& add_node(State& state, const std::string& name, int32_t count,
                           const std::string& kind = "h100") {
  NodeState node;
  node.id = {state.next_node++};
  node.spec.name = name;
  node.spec.instance = name;
  node.spec.address = "10.0.0." + std::to_string(node.id.number);
  node.spec.cpu_milli = 4000 * std::max(count, 1);
  node.spec.memory = gibibytes(32) * std::max(count, 1);
  for (int32_t i = 0; i < count; ++i) {
    Device device;
    device.uuid = name + "-" + std::to_string(i);
    device.kind = kind;
    device.index = i;
    device.memory = gibibytes(16);
    node.spec.devices.push_back(device);
  }
  node.device_taken.assign(static_cast<size_t>(count), false);
  state.node_by_name[name] = node.id;
  return state.nodes[node.id] = node;
}

/// Adds a pending job of `workers` x `devices`.
inline JobState& add_job(State& state, int32_t workers, int32_t devices, int32_t priority = 0) {
  JobState job;
  job.id = {state.next_job++};
  job.spec.name = "job";
  job.spec.command = {"true"};
  job.spec.workers = workers;
  job.spec.devices = devices;
  job.spec.priority = priority;
  state.pending.insert(job.id);
  return state.jobs[job.id] = job;
}

/// Marks devices of a node as given to somebody.
inline void occupy(NodeState& node, const std::vector<int32_t>& devices) {
  for (const int32_t device : devices) node.device_taken[static_cast<size_t>(device)] = true;
}

inline void add_link(NodeState& node, int32_t first, int32_t second, int64_t megabytes_per_s) {
  node.spec.links.push_back({first, second, LinkKind::kNvlink, megabytes_per_s, {}});
}

}  // namespace keiko::sched
