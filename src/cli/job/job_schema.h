// What machines and people may read about job files: the JSON Schema that editors check a file
// with, and the reference in docs/jobs.md. Both follow from job_fields().
#pragma once

#include <string>

namespace keiko::cli {

/// RETURNS: a JSON Schema (draft 2020-12) that accepts what read_job() accepts, save for what a
/// schema cannot say. Pretty-printed, with a newline at the end.
std::string job_schema();

/// RETURNS: the table of keys in docs/jobs.md, Markdown.
std::string job_reference();

}  // namespace keiko::cli
