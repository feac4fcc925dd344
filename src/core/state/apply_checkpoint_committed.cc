#include "core/state/derived.h"

namespace keiko {

// Progress that was saved pays the faults off: a job that fails now and then, but moves on, is not
// a crash loop.
Done apply_body(State& state, Time /*at*/, const CheckpointCommitted& event) {
  JobState* job = TRY(find_attempt(state, event.kName, event.job, event.attempt));
  if (event.mark.step <= job->checkpoint.step) {
    return misfit(event.kName, "step " + std::to_string(event.mark.step) + " is not above " +
                                   std::to_string(job->checkpoint.step));
  }
  job->checkpoint = event.mark;
  job->user_faults = 0;
  job->infra_faults = 0;
  return done();
}

}  // namespace keiko
