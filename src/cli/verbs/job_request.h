// What `submit` and `run` have in common: the job from a file, from flags, or from words behind
// "--".
#pragma once

#include <string>
#include <vector>

#include "cli/job/job_flags.h"
#include "cli/verb.h"

namespace keiko::cli {

/// RETURNS: the whole job: the file's keys (none if `file` is empty), the flags laid over them, the
/// command behind "--", and what is left out made from the surroundings (name, user, directory).
/// kInvalidArgument with everything that is wrong.
Result<JobSpec> make_job(const std::string& file, const JobFlags& flags, const Invocation& call);

/// Sends the job. A lost answer is asked for again under the same token, which makes no second job.
Result<v1::SubmitJobResponse> submit_job(Client& client, const JobSpec& spec);

}  // namespace keiko::cli
