// One pass: the policy's order, then place or refuse each job. What is refused once is refused for
// every job of equal shape behind it, since a pass only takes capacity away.
#include <algorithm>
#include <tuple>

#include "core/sched/policy.h"
#include "core/sched/refusal.h"

namespace keiko::sched {
namespace {

/// Verdicts kept from one pass; jobs further back in the line are explained when somebody asks.
constexpr size_t kMaxVerdicts = 1000;

std::vector<const JobState*> in_order(const State& state, const OrderPolicy& order) {
  std::vector<const JobState*> jobs;
  jobs.reserve(state.pending.size());
  for (const JobId id : state.pending) jobs.push_back(&state.jobs.at(id));
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](const JobState* a, const JobState* b) { return order.before(*a, *b); });
  return jobs;
}

Verdict backing_off(const JobState& job, Time now) {
  Verdict verdict;
  verdict.fit = Fit::kNotNow;
  verdict.reason = Reason::kBackingOff;
  verdict.sentence = "restarts in " + to_text(job.not_before - now) + ": " + job.message;
  verdict.cured_by = {Cure::kTimePasses};
  return verdict;
}

class Pass {
 public:
  Pass(const State& state, const PassInput& input)
      : state_(state), now_(input.now), pool_(state, input), policy_(policy_set(state.policy)) {}

  Plan run() {
    for (const JobState* job : in_order(state_, *policy_.order)) consider(*job);
    return std::move(plan_);
  }

 private:
  using Ask = std::tuple<Shape, int32_t, bool>;

  void consider(const JobState& job) {
    if (job.held) return;
    if (job.not_before > now_) {
      if (plan_.look_again.ns == 0 || job.not_before < plan_.look_again) {
        plan_.look_again = job.not_before;
      }
      refuse(job, backing_off(job, now_));
      return;
    }
    Shape shape = shape_of(job.spec, job.excluded);
    const Ask ask{shape, job.spec.workers, job.spec.one_node};
    if (const auto known = refused_.find(ask); known != refused_.end()) {
      refuse(job, known->second);
      return;
    }
    std::optional<JobPlan> start = policy_.place->place(pool_, job);
    if (!start && !job.excluded.empty()) start = place_with_suspects(job);
    if (start) {
      plan_.starts.push_back(std::move(*start));
      return;
    }
    Verdict verdict = pool_.slots().empty() ? no_nodes() : not_now(pool_, job, shape);
    if (!reserved_) reserved_ = policy_.place->reserve(pool_, job) > 0;
    refuse(job, verdict);
    refused_.emplace(ask, std::move(verdict));
  }

  /// Suspects are avoided where that is possible; a pool without a choice still restarts its jobs.
  std::optional<JobPlan> place_with_suspects(JobState job) {
    job.excluded.clear();
    return policy_.place->place(pool_, job);
  }

  static Verdict no_nodes() {
    return {Fit::kNotNow, Reason::kNoNodes, "the pool has no nodes yet; start an agent",
            {Cure::kNodeJoined}, {}};
  }

  void refuse(const JobState& job, const Verdict& verdict) {
    if (plan_.verdicts.size() < kMaxVerdicts) plan_.verdicts.emplace(job.id, verdict);
  }

  const State& state_;
  Time now_;
  PoolView pool_;
  const PolicySet& policy_;
  Plan plan_;
  std::map<Ask, Verdict> refused_;
  bool reserved_ = false;
};

}  // namespace

Plan schedule(const State& state, const PassInput& input) {
  if (state.pending.empty()) return {};
  return Pass(state, input).run();
}

}  // namespace keiko::sched
