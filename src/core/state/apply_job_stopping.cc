#include "core/state/derived.h"

namespace keiko {

// A stop that is under way may only be made more final: restart < requeue < fail < cancel. So a
// user's cancel wins over a restart that began a moment before, and no restart undoes a cancel.
Done apply_body(State& state, Time at, const JobStopping& event) {
  JobState* job = TRY(find_attempt(state, event.kName, event.job, event.attempt));
  const auto finality = [](StopIntent intent) {
    switch (intent) {
      case StopIntent::kNone: return 0;
      case StopIntent::kRestart: return 1;
      case StopIntent::kRequeue: return 2;
      case StopIntent::kFail: return 3;
      case StopIntent::kCancel: return 4;
    }
    return 0;
  };
  if (finality(event.intent) <= finality(job->intent)) {
    return misfit(event.kName, to_text(event.job) + " is stopping already, to " +
                                   to_text(job->intent));
  }
  job->intent = event.intent;
  job->reason = event.reason;
  job->message = event.why;
  job->status =
      event.intent == StopIntent::kRequeue ? JobStatus::kPreempting : JobStatus::kRegrouping;
  add_timeline(*job, at, "stopping", event.why);
  reindex(state, *job);
  return done();
}

}  // namespace keiko
