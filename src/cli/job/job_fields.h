// The table of a job's fields: the one truth about how people write a job.
//
// Each row names a field of JobSpec by its place in a job file, with type, bounds and a sentence.
// From the rows follow the reading of YAML (job_file.h), the flags of `run` and `submit`
// (job_flags.h), the JSON Schema (job_schema.h), docs/jobs.md (job_reference.h) and the completion
// of the shell. A new field of JobSpec is one row here; a test fails until it is there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/job.h"

namespace keiko::cli {

/// How a value is written.
enum class FieldType {
  kText,      ///< any text
  kLabel,     ///< a name: a-z, 0-9 and '-'
  kPath,      ///< a path; a flag may give it relative to the current directory
  kChoice,    ///< one of a few words
  kInteger,   ///< a whole number within bounds
  kCores,     ///< a number of cores, "2", "0.5" or "500m"
  kBytes,     ///< a size with a unit, "16GiB"
  kDuration,  ///< a span with a unit, "90s", "1h30m"
  kFlag,      ///< true or false
  kCommand,   ///< a list of words, or one text that `sh -c` runs
  kTextMap,   ///< keys with text values
  kMounts,    ///< a list of {source, target, read_only} or of texts "SOURCE:TARGET:ro"
};

/// Where a value lives in a JobSpec.
using FieldMember = std::variant<std::string JobSpec::*, int32_t JobSpec::*, int64_t JobSpec::*,
                                 bool JobSpec::*, JobKind JobSpec::*, Bytes JobSpec::*,
                                 Duration JobSpec::*, std::vector<std::string> JobSpec::*,
                                 std::map<std::string, std::string> JobSpec::*,
                                 std::vector<Mount> JobSpec::*>;

struct JobField {
  std::string section;  ///< "" or "resources": the map that the key stands in
  std::string key;      ///< "device_memory"
  std::string spec_name;  ///< name in JobSpec::fields, which validate() blames
  FieldType type = FieldType::kText;
  FieldMember member;
  std::string help;     ///< a phrase without a full stop
  std::string example;  ///< as written in a file
  int64_t low = 0;      ///< of kInteger, both bounds included
  int64_t high = 0;
  std::vector<std::string> choices = {};

  std::string path() const { return section.empty() ? key : section + "." + key; }
  std::string flag() const;  ///< "--device-memory"
};

const std::vector<JobField>& job_fields();

/// RETURNS: the row, or nullptr.
const JobField* find_job_field(std::string_view section, std::string_view key);
/// RETURNS: the row that validate() means by `where` ("cpu", "device_memory"), or nullptr.
const JobField* find_job_field_by_name(std::string_view where);

/// The sections of a job file, without the top level: "resources".
const std::vector<std::string>& job_sections();

/// Reads one value as a person wrote it and puts it into `spec`.
/// REQUIRES: the type is a single value: not kCommand, kTextMap or kMounts.
/// RETURNS: kInvalidArgument with what is expected; the field is not named.
Done set_field(const JobField& field, std::string_view text, JobSpec& spec);

/// RETURNS: the field's value as set_field reads it back, exactly.
/// REQUIRES: the type is a single value: not kCommand, kTextMap or kMounts.
std::string field_text(const JobField& field, const JobSpec& spec);

/// Puts the default back.
void reset_field(const JobField& field, JobSpec& spec);

/// Whether `spec` holds the field's default.
bool is_default(const JobField& field, const JobSpec& spec);

/// RETURNS: "a size with a unit, such as 16GiB": what a value of this field looks like.
std::string expected_value(const JobField& field);

/// RETURNS: {"sh", "-c", text}.
std::vector<std::string> shell_command(const std::string& text);

/// RETURNS: a label made of the program's (or script's) name, "job" if nothing can be made of it.
std::string name_from_command(const std::vector<std::string>& command);

}  // namespace keiko::cli
