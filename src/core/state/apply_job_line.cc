// What a user does to a job that holds nothing: cancel, hold, release.
#include "core/state/derived.h"

namespace keiko {
namespace {

bool waits(const JobState& job) {
  return job.status == JobStatus::kPending || job.status == JobStatus::kSuspended;
}

}  // namespace

std::string held_text(const JobState& job) {
  const std::string why = job.held_why.empty() ? "" : ": " + job.held_why;
  return "held" + why + "; `keiko release " + to_text(job.id) + "` lets it run";
}

Done apply_body(State& state, Time at, const JobCancelled& event) {
  JobState* job = TRY(find_job(state, event.kName, event.job));
  if (!waits(*job)) return misfit(event.kName, to_text(job->id) + " is " + to_text(job->status));
  job->status = JobStatus::kCancelled;
  job->held = false;
  job->held_why.clear();
  job->reason = Reason::kCancelledByUser;
  job->exit_code = 130;  // as of one that was cancelled while it ran
  job->message = event.why;
  job->ended_at = at;
  add_timeline(*job, at, "cancelled", event.why);
  reindex(state, *job);
  return done();
}

Done apply_body(State& state, Time at, const JobHeld& event) {
  JobState* job = TRY(find_job(state, event.kName, event.job));
  if (job->held || is_final(job->status)) {
    return misfit(event.kName, to_text(job->id) + " is " + to_text(job->status));
  }
  job->held = true;
  job->held_why = event.why;
  // A placed job is held for when its workers have stopped: requeue and hold together.
  if (job->status == JobStatus::kPending) {
    job->status = JobStatus::kSuspended;
    job->reason = Reason::kHeld;
    job->message = held_text(*job);
  }
  add_timeline(*job, at, "held", event.why.empty() ? "held" : "held: " + event.why);
  reindex(state, *job);
  return done();
}

Done apply_body(State& state, Time at, const JobReleased& event) {
  JobState* job = TRY(find_job(state, event.kName, event.job));
  if (!job->held) return misfit(event.kName, to_text(job->id) + " is not held");
  job->held = false;
  job->held_why.clear();
  if (job->status == JobStatus::kSuspended) {
    job->status = JobStatus::kPending;
    job->reason = Reason::kWaitingForResources;
    job->message = "released; waits for the next scheduling pass";
    job->not_before = {};
  }
  add_timeline(*job, at, "released", event.why.empty() ? "released" : "released: " + event.why);
  reindex(state, *job);
  return done();
}

}  // namespace keiko
