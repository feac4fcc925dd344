#include <algorithm>

#include "core/cluster/brain_steps.h"
#include "core/sched/schedule.h"

namespace keiko::cluster {
namespace {

std::string is_text(const JobState& job) { return to_text(job.id) + " is " + to_text(job.status); }

}  // namespace

void BrainSteps::on(const Command& command) {
  std::visit([&](const auto& body) { carry_out(command.request, body); }, command.body);
  settle_touched();
}

void BrainSteps::carry_out(uint64_t request, const ActOnJob& act) {
  const JobState* target = job(act.job);
  if (target == nullptr) {
    return reply(request, not_found("there is no job " + to_text(act.job)));
  }
  if (is_final(target->status)) {
    return reply(request, failed_precondition(to_text(target->id) + " is already " +
                                              to_text(target->status)));
  }
  switch (act.action) {
    case JobAction::kCancel: return cancel(request, *target, act.why);
    case JobAction::kRequeue: return requeue(request, *target, act.why);
    case JobAction::kHold: return hold(request, *target, act.why);
    case JobAction::kRelease:
      if (!target->held) {
        return reply(request, failed_precondition(is_text(*target) + " and not held"));
      }
      commit(JobReleased{act.job, act.why});
      brain_.schedule_wanted_ = true;
      return reply(request, act.job, to_text(act.job) + " is released");
  }
  reply(request, invalid_argument("unknown action"));
}

// A job on its way back to the line may be held as well: it stays out of it once it has stopped.
void BrainSteps::hold(uint64_t request, const JobState& target, const std::string& why) {
  if (is_placed(target.status) && target.intent != StopIntent::kRequeue) {
    return reply(request,
                 failed_precondition(is_text(target) +
                                     "; only a job that waits can be held: `keiko requeue " +
                                     to_text(target.id) + "` first"));
  }
  if (!target.held) commit(JobHeld{target.id, why});
  reply(request, target.id, to_text(target.id) + " is held");
}

void BrainSteps::cancel(uint64_t request, const JobState& target, const std::string& why) {
  const std::string text = why.empty() ? "cancelled by its user" : "cancelled: " + why;
  if (!is_placed(target.status)) {
    commit(JobCancelled{target.id, text});
    brain_.verdicts_.erase(target.id);
    brain_.schedule_wanted_ = true;
    return reply(request, target.id, to_text(target.id) + " is cancelled");
  }
  if (target.intent != StopIntent::kCancel) {
    stop(target.id, StopIntent::kCancel, Reason::kCancelledByUser, text);
  }
  reply(request, target.id, to_text(target.id) + " is being stopped");
}

void BrainSteps::requeue(uint64_t request, const JobState& target, const std::string& why) {
  if (target.held) {
    return reply(request, failed_precondition(to_text(target.id) + " is held; release it first"));
  }
  if (!is_placed(target.status)) {
    return reply(request, target.id, to_text(target.id) + " waits in line already");
  }
  if (target.intent == StopIntent::kCancel || target.intent == StopIntent::kFail) {
    return reply(request, failed_precondition(is_text(target) + " for good: " + target.message));
  }
  if (target.intent != StopIntent::kRequeue) {
    stop(target.id, StopIntent::kRequeue, Reason::kRequeuedByUser,
         why.empty() ? "requeued by its user" : "requeued: " + why);
  }
  reply(request, target.id, to_text(target.id) + " is being requeued");
}

void BrainSteps::carry_out(uint64_t request, const ActOnNode& act) {
  const auto found = brain_.state_.nodes.find(act.node);
  if (found == brain_.state_.nodes.end() || found->second.forgotten) {
    return reply(request, not_found("there is no node " + to_text(act.node)));
  }
  const bool of_health = act.action == NodeAction::kClear || act.action == NodeAction::kCheck;
  if (of_health) return act_on_health(request, found->second, act);
  if (!act.device.empty()) {
    return reply(request, invalid_argument("device: only the health of a device can be acted on; "
                                           "leave it out to mean the node", "device"));
  }
  if (act.action == NodeAction::kForget) return forget(request, found->second, act.why);
  const bool cordon = act.action != NodeAction::kUncordon;
  const bool draining = act.action == NodeAction::kDrain;
  const bool says_why = !act.why.empty() && found->second.duty_why != act.why;
  if (found->second.cordoned != cordon || found->second.draining != draining || says_why) {
    commit(NodeDuty{act.node, cordon, draining, act.why});
  }
  if (draining) drain(act.node, act.why);
  brain_.schedule_wanted_ = true;
  see(act.node);
  const char* what = draining ? " is draining" : cordon ? " is cordoned" : " takes work";
  reply(request, JobId{}, found->second.spec.name + what);
}

void BrainSteps::forget(uint64_t request, const NodeState& node, const std::string& why) {
  if (!node.lost) {
    return reply(request,
                 failed_precondition(node.spec.name + " is " +
                                     to_text(brain_.status_of(node.id, now_)) +
                                     "; only a LOST node is forgotten, so stop its agent first"));
  }
  const std::string name = node.spec.name;
  commit(NodeForgotten{node.id, why});
  reply(request, JobId{}, name + " is forgotten");
}

void BrainSteps::drain(NodeId node, const std::string& why) {
  std::set<JobId> there;
  for (const auto& [key, sent] : brain_.wanted_[node]) there.insert(key.job);
  const std::string name = brain_.state_.nodes.at(node).spec.name;
  for (const JobId id : there) {
    const StopIntent intent = job(id)->intent;
    if (intent != StopIntent::kNone && intent != StopIntent::kRestart) continue;
    stop(id, StopIntent::kRequeue, Reason::kNodeDrained,
         name + " is being drained" + (why.empty() ? "" : ": " + why));
  }
}

void BrainSteps::carry_out(uint64_t request, const ChangeOptions& change) {
  if (Done valid = validate(change.lease); !valid.ok()) {
    return reply(request, std::move(valid).error());
  }
  const std::vector<std::string> names = sched::policy_names();
  if (std::find(names.begin(), names.end(), change.policy) == names.end()) {
    return reply(request, invalid_argument("there is no policy '" + change.policy +
                                           "'; there are: " + keiko::join(names, ", ")));
  }
  commit(OptionsChanged{change.lease, change.policy});
  // Agents count by what the last welcome told them, so each is welcomed anew.
  for (const auto& [id, sight] : brain_.sights_) {
    if (sight.connection != 0) welcome(id);
  }
  brain_.sight_check_ = now_;
  brain_.schedule_wanted_ = true;
  reply(request, JobId{}, "options changed");
}

}  // namespace keiko::cluster
