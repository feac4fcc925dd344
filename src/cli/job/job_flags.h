// The fields of a job as flags of `run` and `submit`: one flag for each row of job_fields(), so
// that whatever a file can say, a flag can say.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/option_set.h"
#include "model/job.h"

namespace keiko::cli {

/// Collects the flags that were given, to lay them over a job from a file or an empty one.
class JobFlags {
 public:
  /// Adds every flag. This object must outlive parse().
  void add_to(OptionSet& options);

  /// Lays what was given over `spec`. Paths become absolute below `current_directory`.
  /// REQUIRES: the options were parsed without error.
  Done apply(const std::string& current_directory, JobSpec& spec) const;

  bool empty() const { return given_.empty(); }

 private:
  std::vector<std::function<Done(const std::string& current_directory, JobSpec& spec)>> given_;
};

}  // namespace keiko::cli
