#include "core/cluster/cluster_brain.h"

#include "core/cluster/brain_steps.h"
#include "core/sched/schedule.h"

namespace keiko::cluster {

ClusterBrain::ClusterBrain(State state, uint64_t term, Time now)
    : state_(std::move(state)), term_(term) {
  now = std::max(now, state_.now);
  for (const auto& [id, node] : state_.nodes) {
    NodeSight& sight = sights_[id];
    sight.last_heard = now;
    sight.lease = state_.lease.lease;
    sight.shown = status_of(id, now);
  }
  for (const JobId id : state_.active) {
    const JobState& job = state_.jobs.at(id);
    for (const WorkerState& worker : job.workers) {
      if (worker.status == WorkerStatus::kEnded) continue;
      wanted_[worker.place.node][{id, job.attempt, worker.place.rank}] = {};
    }
    if (job.spec.time_limit.ns > 0) limit_check_ = now;
  }
  sight_check_ = now;
}

Effects ClusterBrain::start(Time now) {
  now = std::max(now, state_.now);
  for (auto& [id, sight] : sights_) sight.last_heard = now;
  BrainSteps steps(*this, now);
  steps.announce_term();
  steps.ask_for_wake();
  return steps.take();
}

Effects ClusterBrain::step(const Event& event) {
  BrainSteps steps(*this, std::max(event.at, state_.now));
  std::visit([&](const auto& body) { steps.on(body); }, event.body);
  steps.ask_for_wake();
  return steps.take();
}

namespace {

/// RETURNS: what is ill of the machine itself, so that it takes no new work; nullptr if nothing is.
const SubjectHealth* quarantine_of(const NodeSight& sight) {
  for (const SubjectHealth& health : sight.health.subjects) {
    if (health.quarantined && health.subject == HealthSubject{}) return &health;
  }
  return nullptr;
}

/// In words for a person; `keiko health` names the cause.
std::string quarantine_text(const SubjectHealth& health) {
  return health.evidence.empty() ? health.cause : health.evidence;
}

}  // namespace

NodeStatus ClusterBrain::status_of(NodeId id, Time now) const {
  const NodeState& node = state_.nodes.at(id);
  if (node.lost) return NodeStatus::kLost;
  const NodeSight& sight = sights_.at(id);
  const Duration silent = now - sight.last_heard;
  if (silent >= state_.lease.unreachable_after) return NodeStatus::kUnreachable;
  if (node.draining) return NodeStatus::kDraining;
  if (node.cordoned) return NodeStatus::kCordoned;
  if (quarantine_of(sight) != nullptr) return NodeStatus::kQuarantined;
  return silent >= state_.lease.slow_after ? NodeStatus::kSlow : NodeStatus::kReady;
}

std::string ClusterBrain::why_no_work(NodeId id) const {
  const NodeState& node = state_.nodes.at(id);
  if (!node.duty_why.empty()) return node.duty_why;
  const auto sight = sights_.find(id);
  if (node.lost || sight == sights_.end()) return {};
  const SubjectHealth* ill = quarantine_of(sight->second);
  return ill == nullptr ? std::string{} : quarantine_text(*ill);
}

const NodeSight* ClusterBrain::sight_of(NodeId node) const {
  const auto found = sights_.find(node);
  return found == sights_.end() ? nullptr : &found->second;
}

std::optional<Progress> ClusterBrain::progress_of(const WorkerKey& key) const {
  const auto found = progress_.find(key);
  if (found == progress_.end()) return std::nullopt;
  return found->second;
}

const Verdict* ClusterBrain::verdict_of(JobId job) const {
  const auto found = verdicts_.find(job);
  return found == verdicts_.end() ? nullptr : &found->second;
}

namespace {

std::string where_text(const State& state, const JobState& job) {
  std::map<std::string, int> ranks;
  for (const WorkerState& worker : job.workers) {
    if (worker.status != WorkerStatus::kEnded) ++ranks[state.nodes.at(worker.place.node).spec.name];
  }
  std::string text;
  for (const auto& [name, count] : ranks) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " on " + name;
  }
  return text;
}

}  // namespace

sched::PassInput pass_input(const State& state, const std::map<NodeId, NodeSight>& sights,
                            Time now) {
  sched::PassInput input;
  input.now = now;
  for (const auto& [id, sight] : sights) {
    const bool silent = sight.connection == 0 || now - sight.last_heard >= state.lease.slow_after;
    const bool leaves = sight.leaving != 0 && sight.leaving == sight.connection;
    if (silent) {
      input.avoid[id] = "node does not answer";
    } else if (leaves) {
      input.avoid[id] = "node's agent is stopping";
    } else if (sight.awaited) {
      input.avoid[id] = "node's hardware changed; it counts once the workers there have ended";
    }
    if (const SubjectHealth* ill = quarantine_of(sight)) input.ill[id] = quarantine_text(*ill);
    for (const SubjectHealth& health : sight.health.subjects) {
      if (health.quarantined) {
        input.quarantined[id].insert(health.subject);
      } else {
        input.doubts[id][health.subject] = {health.on_probation, health.lemon_millionths};
      }
    }
  }
  return input;
}

Verdict ClusterBrain::explain(JobId id, Time now) const {
  const auto found = state_.jobs.find(id);
  if (found == state_.jobs.end()) return {};
  const JobState& job = found->second;
  Verdict verdict;
  verdict.reason = job.reason;
  verdict.sentence = job.message;
  if (job.status == JobStatus::kPending) {
    return sched::explain(state_, id, pass_input(state_, sights_, now));
  }
  if (job.status == JobStatus::kSuspended) {
    verdict.fit = Fit::kNotNow;
    verdict.reason = Reason::kHeld;
    verdict.sentence = "held; `keiko release " + to_text(id) + "` lets it run";
    verdict.cured_by = {Cure::kRelease};
  } else if (is_placed(job.status)) {
    const std::string where = where_text(state_, job);
    if (!where.empty()) verdict.sentence += "; workers: " + where;
  }
  return verdict;
}

}  // namespace keiko::cluster
