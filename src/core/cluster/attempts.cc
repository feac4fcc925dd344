// What becomes of an attempt whose workers have all ended: whom to blame, and what follows.
#include <algorithm>

#include "core/cluster/brain_steps.h"

namespace keiko::cluster {
namespace {

constexpr int kSigkill = 9;
constexpr Duration kBackOffFirst = seconds(1);
constexpr Duration kBackOffMost = seconds(60);

/// 1 s, 2 s, 4 s, ... for the n-th fault in a row, at most a minute.
Duration back_off(int32_t fault) {
  Duration wait = kBackOffFirst;
  for (int32_t i = 1; i < fault && wait < kBackOffMost; ++i) wait = wait * 2;
  return std::min(wait, kBackOffMost);
}

bool of_infrastructure(const WorkerEnd& end) {
  return end.cause == EndCause::kLeaseEnded || end.cause == EndCause::kVanished ||
         end.cause == EndCause::kNodeFailed ||
         (end.cause == EndCause::kSignalled && end.signal == kSigkill);
}

/// The job goes elsewhere and nothing is counted against it: its node leaves, or has found itself
/// ill in time.
bool is_nobodys_fault(const WorkerEnd& end) {
  return end.cause == EndCause::kNodeLeft || end.cause == EndCause::kNotWell;
}

int32_t exit_code_of(const WorkerEnd& end) {
  switch (end.cause) {
    case EndCause::kExited: return end.exit_code;
    case EndCause::kSignalled: return 128 + end.signal;
    case EndCause::kStartFailed: return 127;
    case EndCause::kOutOfMemory: return 128 + kSigkill;
    default: return 1;
  }
}

Reason reason_of(const WorkerEnd& end) {
  switch (end.cause) {
    case EndCause::kSignalled:
      return end.signal == kSigkill ? Reason::kWorkerKilled : Reason::kWorkerFailed;
    case EndCause::kStartFailed:
    case EndCause::kNotWell:
    case EndCause::kNodeFailed: return Reason::kStartFailed;
    case EndCause::kOutOfMemory: return Reason::kOutOfMemory;
    case EndCause::kLeaseEnded:
    case EndCause::kVanished: return Reason::kNodeLost;
    case EndCause::kNodeLeft: return Reason::kNodeDrained;
    default: return Reason::kWorkerFailed;
  }
}

std::string end_text(const WorkerEnd& end) {
  switch (end.cause) {
    case EndCause::kExited: return "exited with " + std::to_string(end.exit_code);
    case EndCause::kSignalled:
      return (end.signal == kSigkill ? "was killed from outside by signal " : "died of signal ") +
             std::to_string(end.signal);
    case EndCause::kStartFailed:
    case EndCause::kNodeFailed: return "could not be started";
    case EndCause::kOutOfMemory: return "ran out of memory";
    case EndCause::kLeaseEnded: return "was lost with its node's lease";
    case EndCause::kVanished: return "vanished";
    case EndCause::kNodeLeft: return "was stopped, as its node's agent was";
    case EndCause::kNotWell: return "was not started";
    default: return "was stopped";
  }
}

/// Less is blamed sooner: who was stopped because of others never; infrastructure before exit
/// codes, since a peer's death makes the others fail within milliseconds; else who ended first.
std::pair<int, int32_t> blame_order(const WorkerState& worker) {
  const bool consequence = worker.end.cause == EndCause::kStopped;
  const bool vanished = worker.end.cause == EndCause::kVanished;
  const bool left = is_nobodys_fault(worker.end);
  const bool infrastructure = left || (of_infrastructure(worker.end) && !vanished);
  const int rank = consequence ? 3 : infrastructure ? 0 : 1;
  return {rank, worker.end_order};
}

/// The outcome of an attempt that failed: a retry while there is budget. The scheduler avoids the
/// suspects where it can, so they are named without asking whether the job fits elsewhere.
AttemptEnded fault_outcome(const JobState& gang, const Blame& blame, Time now) {
  AttemptEnded ended;
  const int32_t budget = blame.infrastructure ? gang.spec.infra_restarts
                                              : allowed_restarts(gang.spec);
  const int32_t fault = (blame.infrastructure ? gang.infra_faults : gang.user_faults) + 1;
  ended.reason = blame.reason;
  ended.why = blame.sentence;
  ended.exit_code = blame.exit_code;
  ended.user_fault = !blame.infrastructure;
  ended.infra_fault = blame.infrastructure;
  if (fault > budget) {
    ended.outcome = AttemptOutcome::kFailed;
    if (budget > 0) ended.reason = Reason::kRestartsExhausted;
    ended.why += budget == 0 ? "; restarts are off" : "; no restarts left, all " +
                                   std::to_string(budget) + " were used without a new checkpoint";
    return ended;
  }
  ended.outcome = AttemptOutcome::kRetry;
  ended.not_before = now;
  if (!blame.infrastructure) {
    ended.not_before = now + back_off(fault);
  } else if (fault > 1) {
    ended.not_before = now + back_off(fault - 1);
  }
  for (const WorkerState& worker : gang.workers) {
    // A rank that never ran is reported as vanished too, so of those only the root is suspect.
    const bool vanished = worker.end.cause == EndCause::kVanished;
    const bool suspect = of_infrastructure(worker.end) && !vanished;
    const bool root = blame.infrastructure && worker.place.rank == blame.rank;
    if (suspect || root) ended.excluded.insert(worker.place.node);
  }
  return ended;
}

}  // namespace

bool ended_badly(const WorkerState& worker) {
  return worker.status == WorkerStatus::kEnded &&
         !(worker.end.cause == EndCause::kExited && worker.end.exit_code == 0);
}

Blame blame_of(const State& state, const JobState& gang) {
  const WorkerState* root = nullptr;
  for (const WorkerState& worker : gang.workers) {
    if (!ended_badly(worker)) continue;
    if (root == nullptr || blame_order(worker) < blame_order(*root)) root = &worker;
  }
  CHECK(root != nullptr);
  Blame blame;
  blame.rank = root->place.rank;
  blame.reason = reason_of(root->end);
  blame.infrastructure = of_infrastructure(root->end);
  blame.planned = is_nobodys_fault(root->end);
  blame.exit_code = exit_code_of(root->end);
  blame.sentence = "rank " + std::to_string(blame.rank) + " on " +
                   state.nodes.at(root->place.node).spec.name + " " + end_text(root->end);
  if (!root->end.last_words.empty()) blame.sentence += ": " + root->end.last_words;
  return blame;
}

void BrainSteps::conclude(const JobState& gang) {
  AttemptEnded ended;
  const bool wounded = std::any_of(gang.workers.begin(), gang.workers.end(), ended_badly);
  if (gang.intent == StopIntent::kCancel) {
    ended.outcome = AttemptOutcome::kCancelled;
    ended.reason = Reason::kCancelledByUser;
    ended.why = gang.message;
    ended.exit_code = 130;
  } else if (!wounded) {
    ended.outcome = AttemptOutcome::kCompleted;
    ended.why = "all workers exited with 0";
  } else if (gang.intent == StopIntent::kRequeue) {
    ended.outcome = AttemptOutcome::kRequeued;
    ended.reason = gang.reason;
    ended.why = gang.message;
  } else if (gang.intent == StopIntent::kFail) {
    ended.outcome = AttemptOutcome::kFailed;
    ended.reason = gang.reason;
    ended.why = gang.message;
    ended.exit_code = 124;  // as coreutils' timeout(1)
  } else if (const Blame blame = blame_of(brain_.state_, gang); blame.planned) {
    ended.outcome = AttemptOutcome::kRequeued;
    ended.reason = blame.reason;
    ended.why = blame.sentence;
  } else {
    ended = fault_outcome(gang, blame, now_);
  }
#ifdef KEIKO_BUG_SILENT_FAILURE
  ended.reason = Reason::kNone;
  ended.why.clear();
#endif
  ended.job = gang.id;
  ended.attempt = gang.attempt;
  commit(std::move(ended));
  brain_.schedule_wanted_ = true;
}

}  // namespace keiko::cluster
