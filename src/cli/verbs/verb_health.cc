// keiko health and incidents: what is ill in the pool, and what became of it.
#include <memory>

#include "cli/show/health_view.h"
#include "cli/show/output.h"
#include "cli/show/page.h"
#include "cli/verbs.h"
#include "cli/verbs/node_pages.h"

namespace keiko::cli {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<v1::Node>;

struct Given {
  OutputChoice output;
  std::string node;
};

Result<std::shared_ptr<v1::ListNodesResponse>> nodes_of(const Given& given, Client& client) {
  if (given.node.empty()) {
    v1::ListNodesRequest request;
    request.set_with_topology(true);
    return all_nodes(client, request);
  }
  v1::GetNodeRequest request;
  request.set_node(given.node);
  auto one = std::make_shared<v1::ListNodesResponse>();
  *one->add_nodes() = TRY(client.get_node(request));
  return one;
}

Result<int> list(const Given& given, Invocation& call, Table (*make)(const Nodes&, Time),
                 const std::string& nothing) {
  Client* const client = TRY(call.connection.client());
  return show_listing(given.output, call.console, [&]() -> Result<Listing> {
    const auto nodes = TRY(nodes_of(given, *client));
    Listing listing;
    listing.table = make(nodes->nodes(), call.console.now());
    listing.message = nodes.get();
    listing.owner = nodes;
    if (listing.table.rows.empty()) listing.note = nothing;
    return listing;
  });
}

Result<int> one_node(const Given& given, Invocation& call) {
  Client* const client = TRY(call.connection.client());
  return show_page(given.output, call.console, [&]() -> Result<Page> {
    const auto nodes = TRY(nodes_of(given, *client));
    const v1::Node& node = nodes->nodes(0);
    return Page{node.name(), health_page(node, call.console),
                health_table(nodes->nodes(), call.console.now()), nodes};
  });
}

void add_node(OptionSet& options, Given& given) {
  Option& node = options.positional("NODE", given.node, "only this node");
  node.required = false;
  node.completes = Completes::kNode;
}

}  // namespace

Verb verb_health() {
  Verb verb;
  verb.name = "health";
  verb.group = "Cluster";
  verb.summary = "What is ill in the pool, whose turn it is, and what ends it";
  verb.about =
      "Only what is ill or on probation is listed. With NODE: in sentences, with what was seen and "
      "done. Each node judges itself by its drivers and its kernel's log; what is quarantined "
      "takes "
      "no new work until what ENDS BY names has happened.";
  verb.examples = {"keiko health", "keiko health node3"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    add_node(options, *given);
    add_output_options(options, given->output);
    return [given](Invocation& call) {
      return given->node.empty() ? list(*given, call, &health_table, "all is well")
                                 : one_node(*given, call);
    };
  };
  return verb;
}

Verb verb_incidents() {
  Verb verb;
  verb.name = "incidents";
  verb.group = "Cluster";
  verb.summary = "What went wrong with devices and nodes, from cause to recovery";
  verb.about = "The newest first; each node keeps its last ones. -o json has every step.";
  verb.examples = {"keiko incidents", "keiko incidents node3 -o json | jq '.nodes[].incidents'"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    add_node(options, *given);
    add_output_options(options, given->output);
    return [given](Invocation& call) {
      return list(*given, call, &incidents_table, "no incident is known");
    };
  };
  return verb;
}

}  // namespace keiko::cli
