// What the verbs that reach into a running worker have in common: which worker.
#pragma once

#include <string>

#include "cli/attach/attach_client.h"
#include "cli/verb.h"

namespace keiko::cli {

/// --rank N.
inline void add_rank(OptionSet& options, int64_t& rank) {
  Option& option = options.integer("--rank", "N", rank, "in the worker of this rank (0)");
  option.low = 0;
  option.high = INT32_MAX;
}

/// RETURNS: the first frame's job and rank; errors as Connection::job_id().
inline Result<v1::AttachOpen> worker_named(const std::string& job, int64_t rank, Invocation& call) {
  v1::AttachOpen open;
  open.set_job(TRY(call.connection.job_id(job)));
  open.set_rank(static_cast<int32_t>(rank));
  return open;
}

}  // namespace keiko::cli
