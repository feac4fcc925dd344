// keiko history: what a node's metrics were.
#include <memory>

#include "cli/show/history_view.h"
#include "cli/show/output.h"
#include "cli/show/page.h"
#include "cli/verbs.h"
#include "wire/convert.h"

namespace keiko::cli {
namespace {

struct Given {
  OutputChoice output;
  std::string place;  ///< "NODE" or "NODE/DEVICE"
  std::vector<std::string> metrics;
  Duration since = hours(1);
  Duration until;
  Duration step;
};

Result<Page> show(const Given& given, Client& client, const Console& console) {
  v1::GetHistoryRequest request;
  const size_t slash = given.place.find('/');
  request.set_node(given.place.substr(0, slash));
  if (slash != std::string::npos) request.set_device(given.place.substr(slash + 1));
  for (const std::string& metric : given.metrics) request.add_metrics(metric);
  set_proto(*request.mutable_since(), given.since);
  set_proto(*request.mutable_until(), given.until);
  set_proto(*request.mutable_step(), given.step);
  auto history = std::make_shared<v1::GetHistoryResponse>(TRY(client.get_history(request)));
  return Page{history->node(), history_page(*history, console), history_table(*history), history};
}

VerbRun add_options(OptionSet& options) {
  auto given = std::make_shared<Given>();
  options.positional("NODE[/DEVICE]", given->place, "a node, or one device by index or UUID")
      .completes = Completes::kNode;
  options.texts("--metric", "NAME", given->metrics, "only this one, such as power_watts");
  options.duration("--since", given->since, "from so long ago (1h)");
  options.duration("--until", given->until, "to so long ago (now)");
  options.duration("--step", given->step, "spans at least so long (about 240 of them)");
  add_output_options(options, given->output);
  return [given](Invocation& call) -> Result<int> {
    Client* const client = TRY(call.connection.client());
    return show_page(given->output, call.console,
                     [&] { return show(*given, *client, call.console); });
  };
}

}  // namespace

Verb verb_history() {
  Verb verb;
  verb.name = "history";
  verb.group = "Cluster";
  verb.summary = "What a node's metrics were, with curves; also of one that is gone";
  verb.about =
      "A curve is blank where nothing was told and stands on 0. MIN and MAX are of single "
      "readings, "
      "however long the spans. Finer spans go first: 10s after 6h, 1min after 7d; the server's "
      "--history-keep says when the last go.";
  verb.examples = {"keiko history node1", "keiko history node1/0 --metric power_watts --since 1d",
                   "keiko history node1 -o json | jq '.series[0].points'"};
  verb.add_options = &add_options;
  return verb;
}

}  // namespace keiko::cli
