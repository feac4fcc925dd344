// keiko schema: what files and the command line look like, for machines.
#include <memory>

#include "cli/exit_code.h"
#include "cli/help.h"
#include "cli/job/job_schema.h"
#include "cli/verbs.h"

namespace keiko::cli {

Verb verb_schema() {
  Verb verb;
  verb.name = "schema";
  verb.group = "Other";
  verb.summary = "Print the JSON Schema of job files";
  verb.about =
      "`job` is the schema (draft 2020-12) for editors and checkers, `job-keys` the table of "
      "docs/jobs.md, `cli` the reference of docs/cli.md.";
  verb.examples = {"keiko schema job > job.schema.json"};
  verb.asks_server = false;
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto what = std::make_shared<std::string>();
    Option& option = options.positional("WHAT", *what, "what to print");
    option.choices = {"job", "job-keys", "cli"};
    option.completes = Completes::kChoices;
    return [what](Invocation& call) -> Result<int> {
      if (*what == "job") call.console.out(job_schema());
      else if (*what == "job-keys") call.console.out(job_reference());
      else call.console.out(cli_reference(call.verbs));
      return kExitOk;
    };
  };
  return verb;
}

}  // namespace keiko::cli
