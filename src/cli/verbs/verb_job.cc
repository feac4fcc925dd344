// keiko job: all about one job.
#include <memory>

#include "cli/show/job_view.h"
#include "cli/show/output.h"
#include "cli/show/page.h"
#include "cli/verbs.h"

namespace keiko::cli {

Verb verb_job() {
  Verb verb;
  verb.name = "job";
  verb.group = "Jobs";
  verb.summary = "All about one job: what it asks for, where it runs, what happened, why";
  verb.examples = {"keiko job j12", "keiko job 12 -o yaml", "keiko job gpt-small -w"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    struct Given {
      std::string job;
      OutputChoice output;
    };
    auto given = std::make_shared<Given>();
    options.positional("ID", given->job, "the job's id or name").completes = Completes::kJob;
    add_output_options(options, given->output);
    return [given](Invocation& call) -> Result<int> {
      v1::GetJobRequest request;
      request.set_job(TRY(call.connection.job_id(given->job)));
      Client* const client = TRY(call.connection.client());
      return show_page(given->output, call.console, [&]() -> Result<Page> {
        auto job = std::make_shared<v1::Job>(TRY(client->get_job(request)));
        Page page;
        page.name = job->id();
        page.text = job_page(*job, call.console);
        google::protobuf::RepeatedPtrField<v1::Job> alone;
        *alone.Add() = *job;
        page.table = jobs_table(alone, call.console.now());
        page.message = job;
        return page;
      });
    };
  };
  return verb;
}

}  // namespace keiko::cli
