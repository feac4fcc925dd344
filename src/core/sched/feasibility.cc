// Could a job ever run here? Asked once, at submit, so that an impossible request is refused at
// once and names the nearest fit instead of waiting for ever.
#include "core/sched/refusal.h"

namespace keiko::sched {
namespace {

/// RETURNS: how the ask could be made to fit, as a clause of a sentence; empty if nothing near
/// fits.
std::string nearest_fit(const PoolView& pool, const JobSpec& spec) {
  JobSpec smaller = spec;
  const Shape shape = shape_of(spec, {});
  const int64_t workers = room_for(pool, shape, spec.one_node, true).workers;
  if (workers > 0) {
    if (spec.one_node && room_for(pool, shape, false, true).workers >= spec.workers) {
      return "without one_node it would fit";
    }
    return "at most " + std::to_string(workers) + " workers of this shape fit";
  }
  for (int32_t devices = spec.devices - 1; devices > 0; --devices) {
    smaller.devices = devices;
    if (room_for(pool, shape_of(smaller, {}), spec.one_node, true).workers >= spec.workers) {
      return std::to_string(devices) + " devices per worker would fit";
    }
  }
  smaller = spec;
  smaller.device_memory = {};
  if (room_for(pool, shape_of(smaller, {}), spec.one_node, true).workers >= spec.workers) {
    return "it would fit without the demand for " + to_text(spec.device_memory) + " per device";
  }
  smaller = spec;
  smaller.device_kind.clear();
  if (room_for(pool, shape_of(smaller, {}), spec.one_node, true).workers >= spec.workers) {
    return "another kind of device than '" + spec.device_kind + "' would fit";
  }
  smaller = spec;
  smaller.cpu_milli = 0;
  smaller.memory = {};
  if (room_for(pool, shape_of(smaller, {}), spec.one_node, true).workers >= spec.workers) {
    return "with less cpu or memory per worker it would fit";
  }
  smaller.node_labels.clear();
  if (room_for(pool, shape_of(smaller, {}), spec.one_node, true).workers >= spec.workers) {
    return "it would fit without the node labels";
  }
  return {};
}

std::string pool_text(const State& state) {
  std::map<std::string, int64_t> devices;
  for (const auto& [id, node] : state.nodes) {
    for (const Device& device : node.spec.devices) ++devices[device.kind];
  }
  std::string text = std::to_string(state.nodes.size()) + " nodes";
  for (const auto& [kind, count] : devices) text += ", " + std::to_string(count) + " " + kind;
  return text;
}

}  // namespace

Verdict feasibility(const State& state, const JobSpec& spec) {
  if (state.nodes.empty()) {
    return {Fit::kNotNow, Reason::kNoNodes, "the pool has no nodes yet; start an agent",
            {Cure::kNodeJoined}, {}};
  }
  const PoolView pool(state, {});
  const Shape shape = shape_of(spec, {});
  if (room_for(pool, shape, spec.one_node, true).workers >= spec.workers) return {};
  Verdict verdict;
  verdict.fit = Fit::kNever;
  verdict.reason = Reason::kWaitingForDevices;
  const std::string nearest = nearest_fit(pool, spec);
  verdict.sentence = "no node set of this pool (" + pool_text(state) + ") can ever hold " +
                     ask_text(spec) + "; nearest fit: " +
                     (nearest.empty() ? "none, the pool lacks such nodes" : nearest);
  verdict.cured_by = {Cure::kSmallerAsk, Cure::kNodeJoined};
  return verdict;
}

}  // namespace keiko::sched
