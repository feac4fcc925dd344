// keiko events: what happened, and what happens.
#include <memory>

#include "cli/exit_code.h"
#include "cli/show/node_view.h"
#include "cli/show/output.h"
#include "cli/verbs.h"
#include "wire/json.h"

namespace keiko::cli {
namespace {

struct Given {
  bool follow = false;
  std::string job;
  std::string format = "table";
};

std::string event_text(const v1::Event& event, const std::string& format, const Console& console) {
  if (format == "json")
    return to_json(event) + "\n";  // one object a line, so that it can be followed
  if (format == "yaml") return "---\n" + json_to_yaml(to_json(event));
  return event_line(event, console) + "\n";
}

Result<int> events(const Given& given, Invocation& call) {
  v1::WatchEventsRequest request;
  request.set_follow(given.follow);
  Client* const client = TRY(call.connection.client());
  if (!given.job.empty()) {
    v1::GetJobRequest job;
    job.set_job(TRY(call.connection.job_id(given.job)));
    TRY(client->get_job(job));  // that there is none is no empty list
    request.set_job(job.job());
  }
  const auto print = [&](const v1::Event& event) {
    call.console.out(event_text(event, given.format, call.console));
    request.set_after(event.cursor());
    return true;
  };
  bool told = false;
  while (true) {
    const Done watched = client->watch_events(request, print, {});
    if (watched.ok()) return kExitOk;
    const Code code = watched.error().code;
    if (code == Code::kOutOfRange && request.after() != 0) {
      call.console.hint("keiko events: " + printable(watched.error().message) +
                        "; some are missing here");
      request.set_after(0);
      continue;
    }
    // The first call fails at once; a stream that broke later goes on where it was.
    const bool goes_on =
        given.follow && code == Code::kUnavailable && (request.after() != 0 || told);
    if (!goes_on) return watched.error();
    if (!told)
      call.console.hint("keiko events: " + printable(watched.error().message) + "; trying again");
    told = true;
    if (call.console.wait(seconds(1)) > 0) return kExitCancelled;
  }
}

}  // namespace

Verb verb_events() {
  Verb verb;
  verb.name = "events";
  verb.group = "Cluster";
  verb.summary = "What happened in the pool, oldest first";
  verb.about = "As far back as the server remembers. With -o json one object a line.";
  verb.examples = {"keiko events -f", "keiko events --job j12"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    options.flag("-f,--follow", given->follow, "go on as more happens");
    options.text("--job", "ID", given->job, "only about this job").completes = Completes::kJob;
    Option& format = options.text("-o,--output", "FORMAT", given->format, "how to print");
    format.choices = {"table", "json", "yaml"};
    format.completes = Completes::kChoices;
    return [given](Invocation& call) { return events(*given, call); };
  };
  return verb;
}

}  // namespace keiko::cli
