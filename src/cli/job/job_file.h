// A job file: YAML (or JSON) in, a JobSpec or every problem in the file out.
//
// All problems are reported at once, each with line and column and, for a misspelled key, the
// nearest one that exists. A file with problems yields no job. Keys are those of job_fields().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/job/yaml_tree.h"
#include "model/job.h"

namespace keiko::cli {

/// A job, or what is wrong with it in the order of the file. Marks at line 0 are about all of it.
struct JobReading {
  JobSpec spec;
  std::vector<Problem> problems;
};

/// Reads a job from `text`. The name may be absent; finish_job() makes one. Values are held against
/// validate() already, so a job without problems is accepted unless it fits no node.
JobReading read_job(std::string_view text);

/// Reads the file at `path` ("-": standard input).
/// RETURNS: kNotFound or kInvalidArgument if it cannot be read; kInvalidArgument with one line for
/// each problem, "job.yaml:3:5: unknown key 'devcies'; did you mean 'devices'?".
Result<JobSpec> load_job_file(const std::string& path);

/// RETURNS: the problems as lines, each "name:line:column: message".
std::string problems_text(const std::string& name, const std::vector<Problem>& problems);

/// All that validate() objects to, not only the first; `where` of each error is the field.
std::vector<Error> all_objections(const JobSpec& spec);

/// RETURNS: the job file that read_job reads back as `spec`; fields at their default are left out.
/// `user` has no place in a file.
std::string job_to_yaml(const JobSpec& spec);

}  // namespace keiko::cli
