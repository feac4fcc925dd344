#include "core/state/derived.h"

namespace keiko {
namespace {

void go_back_to_the_line(JobState& job, const AttemptEnded& event) {
  job.status = job.held ? JobStatus::kSuspended : JobStatus::kPending;
  job.not_before = event.not_before;
  job.excluded = event.excluded;
  job.user_faults += event.user_fault ? 1 : 0;
  job.infra_faults += event.infra_fault ? 1 : 0;
}

void end_for_good(JobState& job, Time at, const AttemptEnded& event) {
  job.ended_at = at;
  job.held = false;
  job.held_why.clear();
  job.exit_code = event.exit_code;
  if (event.outcome == AttemptOutcome::kCompleted) job.status = JobStatus::kCompleted;
  if (event.outcome == AttemptOutcome::kFailed) job.status = JobStatus::kFailed;
  if (event.outcome == AttemptOutcome::kCancelled) job.status = JobStatus::kCancelled;
}

}  // namespace

// The ranks of the last attempt stay on record when the job has ended, with where and how; a job
// that goes back to the line holds none.
Done apply_body(State& state, Time at, const AttemptEnded& event) {
  JobState* job = TRY(find_attempt(state, event.kName, event.job, event.attempt));
  for (const WorkerState& worker : job->workers) {
    if (worker.status != WorkerStatus::kEnded) {
      return misfit(event.kName, "rank " + std::to_string(worker.place.rank) + " has not ended");
    }
  }
  switch (event.outcome) {
    case AttemptOutcome::kRetry:
    case AttemptOutcome::kRequeued: go_back_to_the_line(*job, event); break;
    case AttemptOutcome::kCompleted:
    case AttemptOutcome::kFailed:
    case AttemptOutcome::kCancelled: end_for_good(*job, at, event); break;
    default: return misfit(event.kName, "an unknown outcome");
  }
  job->intent = StopIntent::kNone;
  job->reason = event.reason;
  job->message = event.why;
  if (job->status == JobStatus::kSuspended) {
    job->reason = Reason::kHeld;
    job->message = held_text(*job);
  }
  add_timeline(*job, at, to_text(event.outcome), event.why);
  if (!is_final(job->status)) job->workers.clear();
  reindex(state, *job);
  return done();
}

}  // namespace keiko
