// What the process says with its exit status. Documented in docs/cli.md; scripts rely on it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace keiko::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotFound = 3;
inline constexpr int kExitRefused = 4;
inline constexpr int kExitUnavailable = 5;
inline constexpr int kExitCancelled = 130;  ///< as a shell shows Ctrl-C: 128 + SIGINT

struct ExitCodeRow {
  int code;
  std::string meaning;
};
const std::vector<ExitCodeRow>& exit_codes();

/// RETURNS: the exit status for an error; never kExitOk.
int exit_code_of(const Error& error);

/// The exit status that `run` and `watch` end with for a job in a final status.
int exit_code_of_job(const std::string& status, int job_exit_code);

}  // namespace keiko::cli
