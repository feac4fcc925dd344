// keiko submit: queue a job and come back at once.
#include <memory>

#include "cli/exit_code.h"
#include "cli/job/job_file.h"
#include "cli/show/output.h"
#include "cli/verbs.h"
#include "cli/verbs/job_request.h"
#include "wire/convert.h"

namespace keiko::cli {
namespace {

struct Given {
  std::string file;
  JobFlags flags;
  bool dry_run = false;
  std::string format = "name";
};

Result<int> submit(const Given& given, Invocation& call) {
  const JobSpec spec = TRY(make_job(given.file, given.flags, call));
  if (given.dry_run) {
    const bool json = given.format == "json";
    call.console.out(json ? message_text(to_proto(spec), OutputChoice{given.format})
                          : job_to_yaml(spec));
    return kExitOk;
  }
  Client* const client = TRY(call.connection.client());
  const v1::SubmitJobResponse response = TRY(submit_job(*client, spec));
  if (given.format != "name") {
    call.console.out(message_text(response, OutputChoice{given.format}));
    return kExitOk;
  }
  // The id alone on standard output: id=$(keiko submit job.yaml).
  call.console.line(response.job());
  if (!response.text().empty()) call.console.hint(printable(response.text()));
  return kExitOk;
}

}  // namespace

Verb verb_submit() {
  Verb verb;
  verb.name = "submit";
  verb.group = "Jobs";
  verb.summary = "Queue a job from a file or a command";
  verb.about =
      "Prints the job's id. Flags win over the file; docs/jobs.md describes the file. A file "
      "with a mistake submits nothing, and all its mistakes are listed.";
  verb.examples = {"keiko submit examples/jobs/hello.yaml",
                   "keiko submit --workers 2 --devices 1 -- python3 train.py --lr 3e-4",
                   "id=$(keiko submit job.yaml) && keiko logs -f $id"};
  verb.takes_command = true;
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    Option& file = options.positional("FILE", given->file, "a job file; '-' reads standard input");
    file.required = false;
    file.completes = Completes::kFile;
    options.flag("--dry-run", given->dry_run,
                 "check it and print the job as a file, or with -o json as the server gets it; "
                 "submit nothing");
    Option& format =
        options.text("-o,--output", "FORMAT", given->format, "how to print the answer");
    format.choices = {"name", "json", "yaml"};
    format.completes = Completes::kChoices;
    given->flags.add_to(options);
    return [given](Invocation& call) { return submit(*given, call); };
  };
  return verb;
}

}  // namespace keiko::cli
