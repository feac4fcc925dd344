// Deadlines and the scheduler: leases that end, time limits, one pass over the line.
#include <algorithm>

#include "core/cluster/brain_steps.h"
#include "core/sched/schedule.h"

namespace keiko::cluster {

void BrainSteps::on(const Wake& /*event*/) {
  if (now_ >= brain_.sight_check_) check_sights();
  if (brain_.limit_check_.ns != 0 && now_ >= brain_.limit_check_) check_limits();
  settle_touched();
  const bool due = brain_.look_again_.ns != 0 && now_ >= brain_.look_again_;
  if (brain_.schedule_wanted_ || due) schedule();
  ask_for_wake();
}

// Looks at every node, then notes the earliest time at which any of them could be seen differently:
// heartbeats only move that time away, so healthy nodes are looked at once in seconds.
void BrainSteps::check_sights() {
  const LeaseOptions& lease = brain_.state_.lease;
  Time next{INT64_MAX};
  std::vector<NodeId> ended;
  for (const auto& [id, node] : brain_.state_.nodes) {
    if (node.lost) continue;
    NodeSight& sight = brain_.sights_[id];
    if (now_ >= sight.last_heard + lease.lease) {
      ended.push_back(id);
      continue;
    }
    const NodeStatus seen = brain_.status_of(id, now_);
    if (seen != sight.shown) {
      note("node_seen", "name=" + node.spec.name + " status=" + to_text(seen), {}, id);
      sight.shown = seen;
      brain_.schedule_wanted_ = true;
    }
    for (const Duration edge : {lease.slow_after, lease.unreachable_after, lease.lease}) {
      if (sight.last_heard + edge > now_) {
        next = std::min(next, sight.last_heard + edge);
        break;
      }
    }
  }
  brain_.sight_check_ = next;
  for (const NodeId id : ended) lose(id);
}

/// The lease has ended: the agent has stopped its workers by now, whether it can say so or not.
void BrainSteps::lose(NodeId node) {
  WorkerEnd end;
  end.cause = EndCause::kLeaseEnded;
  std::vector<WorkerKey> there;
  for (const auto& [key, sent] : brain_.wanted_[node]) there.push_back(key);
  for (const WorkerKey& key : there) end_worker(key, end);
  commit(NodeLost{node});
  NodeSight& sight = brain_.sights_[node];
  sight.shown = NodeStatus::kLost;
  if (sight.connection != 0) {
    effects_.push_back(CloseConnection{sight.connection, "its lease ended"});
    brain_.node_by_connection_.erase(sight.connection);
    sight.connection = 0;
  }
  brain_.schedule_wanted_ = true;
}

void BrainSteps::check_limits() {
  Time next{INT64_MAX};
  std::vector<JobId> over;
  for (const JobId id : brain_.state_.active) {
    const JobState& gang = brain_.state_.jobs.at(id);
    if (gang.spec.time_limit.ns == 0 || gang.intent == StopIntent::kFail ||
        gang.intent == StopIntent::kCancel) {
      continue;
    }
    const Time limit = gang.started_at + gang.spec.time_limit;
    if (now_ >= limit) {
      over.push_back(id);
    } else {
      next = std::min(next, limit);
    }
  }
  brain_.limit_check_ = next.ns == INT64_MAX ? Time{} : next;
  for (const JobId id : over) {
    stop(id, StopIntent::kFail, Reason::kTimeLimit,
         "ran for its time limit of " + to_text(job(id)->spec.time_limit));
  }
}

void BrainSteps::schedule() {
  brain_.schedule_wanted_ = false;
  brain_.look_again_ = {};
  State& state = brain_.state_;
  if (state.pending.empty()) return brain_.verdicts_.clear();
  sched::PassInput input;
  input.now = now_;
  for (const auto& [id, node] : state.nodes) {
    const NodeSight& sight = brain_.sights_[id];
    if (sight.connection == 0 || now_ - sight.last_heard >= state.lease.slow_after) {
      input.avoid.insert(id);
    }
  }
  sched::Plan plan = sched::schedule(state, input);
  brain_.look_again_ = plan.look_again;
  for (sched::JobPlan& start : plan.starts) {
    const int32_t attempt = job(start.job)->attempt + 1;
    if (!commit(JobPlaced{start.job, attempt, std::move(start.placements), std::move(start.why)})) {
      continue;
    }
    const JobState& gang = *job(start.job);
    for (const WorkerState& worker : gang.workers) {
      brain_.wanted_[worker.place.node][{gang.id, attempt, worker.place.rank}] = {};
    }
    if (gang.spec.time_limit.ns > 0) {
      const Time limit = now_ + gang.spec.time_limit;
      if (brain_.limit_check_.ns == 0 || limit < brain_.limit_check_) brain_.limit_check_ = limit;
    }
    start_workers(gang);
  }
  for (const auto& [id, verdict] : plan.verdicts) {
    const Verdict* before = brain_.verdict_of(id);
    if (before != nullptr && before->reason == verdict.reason) continue;
    note("job_waits", "job=" + to_text(id) + " reason=" + to_text(verdict.reason) +
                          " why=" + quote_text(verdict.sentence), id);
  }
  brain_.verdicts_ = std::move(plan.verdicts);
}

void BrainSteps::ask_for_wake() {
  Time next = brain_.sight_check_;
  for (const Time other : {brain_.look_again_, brain_.limit_check_}) {
    if (other.ns != 0) next = std::min(next, other);
  }
  const bool known = next == brain_.next_wake_ && next > now_;
  if (next.ns == INT64_MAX || known) return;
  brain_.next_wake_ = next;
  effects_.push_back(WakeAt{std::max(next, now_)});
}

}  // namespace keiko::cluster
