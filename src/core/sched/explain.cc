// Why one job waits, in full: what is ahead of it, and what each node lacks.
#include <algorithm>

#include "core/sched/policy.h"
#include "core/sched/refusal.h"

namespace keiko::sched {

Verdict explain(const State& state, JobId id, const PassInput& input) {
  const auto found = state.jobs.find(id);
  if (found == state.jobs.end() || !state.pending.contains(id)) return {};
  const JobState& job = found->second;
  const PolicySet& policy = policy_set(state.policy);

  Plan plan = schedule(state, input);
  Verdict verdict;
  if (const auto known = plan.verdicts.find(id); known != plan.verdicts.end()) {
    verdict = known->second;
  } else {
    const PoolView pool(state, input);
    const Shape shape = shape_of(job.spec, job.excluded);
    verdict = not_now(pool, job, shape);
    const bool starts = std::any_of(plan.starts.begin(), plan.starts.end(),
                                    [&](const JobPlan& start) { return start.job == id; });
    if (starts) {
      verdict = {Fit::kFits, Reason::kNone, "it fits and starts with the next pass", {}, {}};
    }
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
