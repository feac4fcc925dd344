#include "core/state/derived.h"

namespace keiko {

Done apply_body(State& state, Time at, const JobSubmitted& event) {
  if (event.job.number != state.next_job) {
    return misfit(event.kName, to_text(event.job) + " is not the next job");
  }
  if (!event.token.empty() && state.job_by_token.contains(event.token)) {
    return misfit(event.kName, "the token was used before");
  }
  TRY(check_lawful(event.kName, event.spec));
  ++state.next_job;
  JobState& job = state.jobs[event.job];
  job.id = event.job;
  job.spec = event.spec;
  job.token = event.token;
  job.submitted_at = at;
  job.reason = Reason::kWaitingForResources;
  job.message = "waits for the next scheduling pass";
  if (!event.token.empty()) state.job_by_token[event.token] = event.job;
  add_timeline(job, at, "submitted",
               event.spec.user.empty() ? "submitted" : "submitted by " + event.spec.user);
  reindex(state, job);
  return done();
}

}  // namespace keiko
