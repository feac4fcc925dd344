// keiko why: why a job waits, and what would help.
#include <memory>

#include "cli/show/job_view.h"
#include "cli/show/output.h"
#include "cli/show/page.h"
#include "cli/verbs.h"

namespace keiko::cli {

Verb verb_why() {
  Verb verb;
  verb.name = "why";
  verb.group = "Jobs";
  verb.summary = "Why a job waits or where it stands, and what would change that";
  verb.about =
      "For a job that waits: each condition with the number of nodes that fail it, and the "
      "nearest miss.";
  verb.examples = {"keiko why j12", "keiko why gpt-large -o json"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    struct Given {
      std::string job;
      OutputChoice output;
    };
    auto given = std::make_shared<Given>();
    options.positional("ID", given->job, "the job's id or name").completes = Completes::kJob;
    add_output_options(options, given->output);
    return [given](Invocation& call) -> Result<int> {
      const std::string id = TRY(call.connection.job_id(given->job));
      Client* const client = TRY(call.connection.client());
      return show_page(given->output, call.console, [&, id]() -> Result<Page> {
        v1::ExplainJobRequest explain;
        explain.set_job(id);
        auto response = std::make_shared<v1::ExplainJobResponse>(TRY(client->explain_job(explain)));
        v1::GetJobRequest get;
        get.set_job(id);
        const v1::Job job = TRY(client->get_job(get));
        Page page;
        page.name = id;
        page.text = verdict_page(job, response->verdict(), call.console);
        page.table = {
            {{"JOB"}, {"STATUS"}, {"FIT"}, {"REASON"}, {"SENTENCE", false, false, true}},
            {{id, Cell(job.status(), colour_of_status(job.status())), response->verdict().fit(),
              response->verdict().reason(), response->verdict().sentence()}}};
        page.message = response;
        return page;
      });
    };
  };
  return verb;
}

}  // namespace keiko::cli
