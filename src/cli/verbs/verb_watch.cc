// keiko watch: the live view of one job.
#include <memory>

#include "cli/verbs.h"
#include "cli/verbs/job_watch.h"

namespace keiko::cli {

Verb verb_watch() {
  Verb verb;
  verb.name = "watch";
  verb.group = "Jobs";
  verb.summary = "A live picture of one job until it ends";
  verb.about =
      "Progress, loss curve, who runs where and what happened, redrawn in place on a terminal; "
      "plain lines elsewhere. Ctrl-C leaves the job alone. The exit status is the job's.";
  verb.examples = {"keiko watch j12"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto job = std::make_shared<std::string>();
    options.positional("ID", *job, "the job's id or name").completes = Completes::kJob;
    return [job](Invocation& call) -> Result<int> {
      const std::string id = TRY(call.connection.job_id(*job));
      Client* const client = TRY(call.connection.client());
      return watch_live(*client, id, /*cancel_at_interrupt=*/false, call.console);
    };
  };
  return verb;
}

}  // namespace keiko::cli
