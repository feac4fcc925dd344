// Deadlines and the scheduler: leases that end, time limits, one pass over the line.
#include <algorithm>

#include "core/cluster/brain_steps.h"
#include "core/sched/schedule.h"

namespace keiko::cluster {

namespace {

constexpr Time kNever{INT64_MAX};
/// Passes for the sake of time alone come no faster than this.
constexpr Duration kLookAtMost = milliseconds(1);

Time limit_of(const JobState& gang) {
  const Duration most = kNever - gang.started_at;
  return gang.started_at + std::min(most, gang.spec.time_limit);
}

}  // namespace

void BrainSteps::on(const Wake& /*event*/) {
  brain_.next_wake_ = {};
  if (brain_.unsettled_) settle_all();
  if (now_ >= brain_.sight_check_) check_sights();
  if (brain_.limit_check_.ns != 0 && now_ >= brain_.limit_check_) check_limits();
  settle_touched();
  const bool due = brain_.look_again_.ns != 0 && now_ >= brain_.look_again_;
  if (brain_.schedule_wanted_ || due) schedule();
}

/// Notes how a node is seen when that has changed.
void BrainSteps::see(NodeId id) {
  NodeSight& sight = brain_.sights_[id];
  const NodeStatus seen = brain_.status_of(id, now_);
  if (seen == sight.shown) return;
  sight.shown = seen;
  note("node_seen",
       "name=" + brain_.state_.nodes.at(id).spec.name + " status=" + to_text(seen), {}, id);
  brain_.schedule_wanted_ = true;
}

// Looks at every node, then notes the earliest time at which any of them could be seen differently:
// heartbeats only move that time away, so healthy nodes are looked at once in seconds.
void BrainSteps::check_sights() {
  const LeaseOptions& lease = brain_.state_.lease;
  Time next = kNever;
  std::vector<NodeId> ended;
  for (const auto& [id, node] : brain_.state_.nodes) {
    if (node.lost) continue;
    const NodeSight& sight = brain_.sights_[id];
#ifdef KEIKO_BUG_LEASE_ENDS_EARLY
    const Duration whole = lease.slow_after;
#else
    const Duration whole = std::max(lease.lease, sight.lease);
#endif
    if (now_ >= sight.last_heard + whole) {
      ended.push_back(id);
      continue;
    }
    see(id);
    for (const Duration edge : {lease.slow_after, lease.unreachable_after, whole}) {
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
  NodeSight& sight = brain_.sights_[node];
  sight.awaited.reset();
  sight.workers.clear();
  sight.strays.clear();
  for (const WorkerKey& key : there) end_worker(key, end);
  commit(NodeLost{node});
  sight.shown = NodeStatus::kLost;
  if (sight.connection != 0) {
    effects_.push_back(CloseConnection{sight.connection, "its lease ended"});
    brain_.node_by_connection_.erase(sight.connection);
    sight.connection = 0;
  }
  brain_.schedule_wanted_ = true;
}

void BrainSteps::check_limits() {
  Time next = kNever;
  std::vector<JobId> over;
  for (const JobId id : brain_.state_.active) {
    const JobState& gang = brain_.state_.jobs.at(id);
    if (gang.spec.time_limit.ns == 0 || gang.intent != StopIntent::kNone) continue;
    const Time limit = limit_of(gang);
    if (now_ >= limit) {
      over.push_back(id);
    } else {
      next = std::min(next, limit);
    }
  }
  brain_.limit_check_ = next == kNever ? Time{} : next;
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
  sched::Plan plan = sched::schedule(state, pass_input(state, brain_.sights_, now_));
  if (plan.look_again.ns != 0) brain_.look_again_ = std::max(plan.look_again, now_ + kLookAtMost);
  for (sched::JobPlan& start : plan.starts) {
    const int32_t attempt = job(start.job)->attempt + 1;
    if (!commit(JobPlaced{start.job, attempt, std::move(start.placements), std::move(start.why)})) {
      continue;
    }
    start_planned(start.job);
  }
  for (const auto& [id, verdict] : plan.verdicts) {
    const Verdict* before = brain_.verdict_of(id);
    if (before != nullptr && before->reason == verdict.reason) continue;
    note("job_waits", "job=" + to_text(id) + " reason=" + to_text(verdict.reason) +
                          " why=" + quote_text(verdict.sentence), id);
  }
  brain_.verdicts_ = std::move(plan.verdicts);
}

void BrainSteps::start_planned(JobId id) {
  const JobState& gang = *job(id);
  for (const WorkerState& worker : gang.workers) {
    brain_.wanted_[worker.place.node][{gang.id, gang.attempt, worker.place.rank}] = {};
  }
  if (gang.spec.time_limit.ns > 0) {
    const Time limit = limit_of(gang);
    if (brain_.limit_check_.ns == 0 || limit < brain_.limit_check_) brain_.limit_check_ = limit;
  }
  start_workers(gang);
}

/// Asks for the next deadline, unless a wake that comes as early is under way already.
void BrainSteps::ask_for_wake() {
  Time next = brain_.sight_check_;
  for (const Time other : {brain_.look_again_, brain_.limit_check_}) {
    if (other.ns != 0) next = std::min(next, other);
  }
  if (brain_.schedule_wanted_ || brain_.unsettled_) next = now_;
  if (next == kNever) return;
  next = std::max(next, now_);
  if (brain_.next_wake_.ns != 0 && brain_.next_wake_ <= next) return;
  brain_.next_wake_ = next;
  effects_.push_back(WakeAt{next});
}

}  // namespace keiko::cluster
