#include "cli/exit_code.h"

namespace keiko::cli {

const std::vector<ExitCodeRow>& exit_codes() {
  static const std::vector<ExitCodeRow> rows = {
      {kExitOk, "done"},
      {kExitFailure, "it failed; the message says why"},
      {kExitUsage, "the command line is wrong; nothing was asked of the server"},
      {kExitNotFound, "no such job, node or file"},
      {kExitRefused,
       "refused: invalid job or job file, not allowed, or not possible in this state"},
      {kExitUnavailable, "the server cannot be reached, or cannot answer now; try again later"},
      {kExitCancelled, "`run`, `watch`: the job was cancelled; others: interrupted by Ctrl-C"},
  };
  return rows;
}

int exit_code_of(const Error& error) {
  switch (error.code) {
    case Code::kNotFound: return kExitNotFound;
    case Code::kInvalidArgument:
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kUnauthenticated: return kExitRefused;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kResourceExhausted: return kExitUnavailable;
    case Code::kCancelled: return kExitCancelled;
    default: return kExitFailure;
  }
}

int exit_code_of_job(const std::string& status, int job_exit_code) {
  if (status == "COMPLETED") return kExitOk;
  if (status == "CANCELLED") return kExitCancelled;
  const bool usable = job_exit_code > 0 && job_exit_code < 256;
  return usable ? job_exit_code : kExitFailure;
}

}  // namespace keiko::cli
