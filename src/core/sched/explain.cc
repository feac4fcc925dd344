// Why one job waits, in full: what is ahead of it, and what each node lacks.
#include <algorithm>

#include "core/sched/policy.h"
#include "core/sched/refusal.h"

namespace keiko::sched {
namespace {

/// Whether a device in quarantine is of the kind that the shape wants, or a node that is in
/// quarantine itself could hold a worker.
bool has_quarantine(const PoolView& pool, const Shape& shape) {
  const auto is_wanted = [&](const Device& device) {
    const std::string& kind = shape.device_kind.empty() ? device.kind : shape.device_kind;
    return shape.devices > 0 && device_matches(device, shape, kind);
  };
  for (const Slot& slot : pool.slots()) {
    for (const std::string& kind : pool.kinds_for(shape)) {
      if (!slot.ill.empty() && capacity_when_empty(slot, shape, kind) > 0) return true;
    }
    for (size_t i = 0; i < slot.quarantined.size(); ++i) {
      if (slot.quarantined[i] && is_wanted(slot.node->spec.devices[i])) return true;
    }
  }
  return false;
}

/// What would help this job on this pool, rather than what helps jobs in general.
void name_cures(const PoolView& pool, const JobState& job, const Shape& shape, Verdict& verdict) {
  PoolView serving = pool;
  std::erase_if(serving.slots(),
                [&](const Slot& slot) { return !node_refusal(slot, shape).empty(); });
  const bool could_hold =
      room_for(serving, shape, job.spec.one_node, true).workers >= job.spec.workers;
  PoolView absent = pool;
  std::erase_if(absent.slots(), [](const Slot& slot) {
    const NodeState& node = *slot.node;
    return !node.lost && !node.draining && !node.cordoned && slot.avoided.empty();
  });
  const bool lacks_some = room_for(absent, shape, job.spec.one_node, true).workers > 0;

  verdict.cured_by.clear();
  if (could_hold) verdict.cured_by.push_back(Cure::kDevicesFreed);
  if (has_quarantine(pool, shape)) verdict.cured_by.push_back(Cure::kQuarantineEnded);
  if (lacks_some) verdict.cured_by.push_back(Cure::kNodeReturned);
  verdict.cured_by.push_back(Cure::kNodeJoined);
  if (verdict.reason == Reason::kWaitingForResources) verdict.cured_by.push_back(Cure::kSmallerAsk);
  if (!could_hold) {
    verdict.sentence += "; the nodes that take work now could not hold it even if they were empty";
  }
}

}  // namespace

Verdict explain(const State& state, JobId id, const PassInput& input) {
  const auto found = state.jobs.find(id);
  if (found == state.jobs.end() || !state.pending.contains(id)) return {};
  const JobState& job = found->second;
  const PolicySet& policy = policy_set(state.policy);
  const PoolView pool(state, input);
  const Shape shape = shape_of(job.spec, job.excluded);

  Plan plan = schedule(state, input);
  Verdict verdict;
  if (const auto known = plan.verdicts.find(id); known != plan.verdicts.end()) {
    verdict = known->second;
  } else {
    verdict = not_now(pool, job, shape);
    const bool starts = std::any_of(plan.starts.begin(), plan.starts.end(),
                                    [&](const JobPlan& start) { return start.job == id; });
    if (starts) {
      verdict = {Fit::kFits, Reason::kNone, "it fits and starts with the next pass", {}, {}};
    }
  }
  if (verdict.reason == Reason::kWaitingForResources || verdict.reason == Reason::kBehindOthers) {
    name_cures(pool, job, shape, verdict);
  }
  int64_t ahead = 0;
  JobId first;
  for (const JobId other : state.pending) {
    const JobState& candidate = state.jobs.at(other);
    if (other == id || candidate.held || !policy.order->before(candidate, job)) continue;
    if (ahead++ == 0 || policy.order->before(candidate, state.jobs.at(first))) first = other;
  }
  verdict.sentence += ahead == 0 ? "; it is first in line"
                                 : "; " + std::to_string(ahead) + " ahead in line, first " +
                                       to_text(first);
  verdict.sentence += " (" + policy.order->explain(job) + ")";
  return verdict;
}

}  // namespace keiko::sched
