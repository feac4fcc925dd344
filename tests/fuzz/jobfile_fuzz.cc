// sources: src/base/*.cc src/model/*.cc src/cli/job/yaml_tree.cc
// sources: src/cli/job/job_fields.cc src/cli/job/job_file.cc
// flags: -lyaml-cpp
//
// The job file's reader against any bytes. Whatever they are, the answer is a job or a list of
// problems, in bounded time and memory; never a crash. A job that is accepted passes validate() and
// comes back unchanged from the file that is written for it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/check.h"
#include "cli/job/job_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using keiko::cli::JobReading;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const JobReading reading = keiko::cli::read_job(text);
  if (!reading.problems.empty()) {
    CHECK(!keiko::cli::problems_text("job.yaml", reading.problems).empty());
    return 0;
  }
  CHECK(keiko::cli::all_objections(reading.spec).empty());
  const std::string written = keiko::cli::job_to_yaml(reading.spec);
  if (written.size() > keiko::cli::kMaxYamlBytes) return 0;
  const JobReading again = keiko::cli::read_job(written);
  CHECK(again.problems.empty());
  CHECK(again.spec == reading.spec);
  return 0;
}
