// Which jobs' logs go: of ended jobs alone, oldest end first. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "model/logs/log_name.h"

namespace keiko::logship {

struct RetentionOptions {
  /// Logs of a job go this long after its end; 0: never for their age.
  Duration keep = hours(24 * 30);
  /// What all logs together may take; beyond it the oldest go. 0: no limit.
  Bytes total = gibibytes(50);
};

struct KeptJob {
  JobId job;
  Bytes size;
  bool ended = false;
  Duration since_end;  ///< of an ended one
};

struct Removal {
  JobId job;
  std::string why;     ///< for who reads the logs later
};

/// `missing`: bytes that should be made free whatever the options say.
/// RETURNS: what to remove, in the order in which it should be. Jobs that have not ended are never
/// in it, even if all the room is theirs.
std::vector<Removal> plan_removals(std::vector<KeptJob> jobs, const RetentionOptions& options,
                                   Bytes missing);

}  // namespace keiko::logship
