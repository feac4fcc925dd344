// Could a job ever run here? Asked once, at submit, so that an impossible request is refused at
// once and names the nearest fit instead of waiting for ever.
#include <functional>

#include "core/sched/refusal.h"

namespace keiko::sched {
namespace {

bool fits_empty(const PoolView& pool, const JobSpec& spec) {
  return room_for(pool, shape_of(spec, {}), spec.one_node, true).workers >= spec.workers;
}

/// RETURNS: the largest value up to `most` with which it fits, 0 if none does. The larger the ask,
/// the less room there is, so halving finds it.
int64_t largest_that_fits(int64_t most, const std::function<bool(int64_t)>& fits) {
  int64_t low = 0;
  int64_t high = most;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/// RETURNS: how much less cpu or memory would do, if one of them is all that is in the way.
std::string less_per_worker(const PoolView& pool, const JobSpec& spec) {
  JobSpec smaller = spec;
  const int64_t cpu = largest_that_fits(spec.cpu_milli, [&](int64_t milli) {
    smaller.cpu_milli = milli;
    return fits_empty(pool, smaller);
  });
  if (cpu > 0) return "with " + cores_text(cpu) + " cpu per worker it would fit";
  smaller = spec;
  // In steps of a mebibyte, so that the answer can be typed.
  const int64_t memory = largest_that_fits(spec.memory.count >> 20, [&](int64_t mebi) {
    smaller.memory = mebibytes(mebi);
    return fits_empty(pool, smaller);
  });
  if (memory > 0) return "with " + std::to_string(memory) + "MiB per worker it would fit";
  return {};
}

/// RETURNS: what keeps the nodes that would do from running images, as a clause of a sentence.
std::string nearest_without_image(const PoolView& pool, const JobSpec& spec) {
  std::string text = "it would fit without the image";
  for (const Slot& slot : pool.slots()) {
    const NodeSpec& node = slot.node->spec;
    if (!node.image_runtime.empty()) continue;
    const std::string why =
        node.image_trouble.empty() ? "its agent is older than images" : node.image_trouble;
    return text + "; node " + node.name + " cannot run one: " + why;
  }
  return text + "; " + std::to_string(spec.workers) + " workers find no room where images run";
}

/// RETURNS: how the ask could be made to fit, as a clause of a sentence; empty if nothing near
/// fits.
std::string nearest_fit(const PoolView& pool, const JobSpec& spec) {
  JobSpec smaller = spec;
  const Shape shape = shape_of(spec, {});
  smaller.image.clear();
  if (fits_empty(pool, smaller)) return nearest_without_image(pool, spec);
  smaller = spec;
  const int64_t workers = room_for(pool, shape, spec.one_node, true).workers;
  if (workers > 0) {
    if (spec.one_node && room_for(pool, shape, false, true).workers >= spec.workers) {
      return "without one_node it would fit";
    }
    return "at most " + std::to_string(workers) +
           (workers == 1 ? " worker of this shape fits" : " workers of this shape fit");
  }
  for (int32_t devices = spec.devices - 1; devices > 0; --devices) {
    smaller.devices = devices;
    if (fits_empty(pool, smaller)) {
      return std::to_string(devices) + " devices per worker would fit";
    }
  }
  smaller = spec;
  smaller.device_memory = {};
  if (fits_empty(pool, smaller)) {
    return "it would fit without the demand for " + to_text(spec.device_memory) + " per device";
  }
  smaller = spec;
  smaller.device_kind.clear();
  if (fits_empty(pool, smaller)) {
    return "another kind of device than '" + spec.device_kind + "' would fit";
  }
  const std::string less = less_per_worker(pool, spec);
  if (!less.empty()) return less;
  smaller = spec;
  smaller.cpu_milli = 0;
  smaller.memory = {};
  if (fits_empty(pool, smaller)) return "with less cpu and less memory per worker it would fit";
  smaller.node_labels.clear();
  if (fits_empty(pool, smaller)) {
    return "it would fit without the node labels";
  }
  return {};
}

std::string pool_text(const State& state) {
  std::map<std::string, int64_t> devices;
  int64_t nodes = 0;
  for (const auto& [id, node] : state.nodes) {
    if (!node.forgotten) ++nodes;
    for (const Device& device : node.spec.devices) ++devices[device.kind];
  }
  std::string text = std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
  for (const auto& [kind, count] : devices) text += ", " + std::to_string(count) + " " + kind;
  return text;
}

}  // namespace

Verdict feasibility(const State& state, const JobSpec& spec) {
  const PoolView pool(state, {});
  if (pool.slots().empty()) {
    return {Fit::kNotNow, Reason::kNoNodes, "the pool has no nodes yet; start an agent",
            {Cure::kNodeJoined}, {}};
  }
  const Shape shape = shape_of(spec, {});
  if (room_for(pool, shape, spec.one_node, true).workers >= spec.workers) return {};
  Verdict verdict;
  verdict.fit = Fit::kNever;
  verdict.reason = Reason::kWaitingForResources;
  const std::string nearest = nearest_fit(pool, spec);
  verdict.sentence = "no node set of this pool (" + pool_text(state) + ") can ever hold " +
                     ask_text(spec) + "; nearest fit: " +
                     (nearest.empty() ? "none, the pool lacks such nodes" : nearest);
  verdict.cured_by = {Cure::kSmallerAsk, Cure::kNodeJoined};
  return verdict;
}

}  // namespace keiko::sched
