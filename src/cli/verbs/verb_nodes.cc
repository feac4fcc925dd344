// keiko nodes, node and devices: the pool.
#include <memory>

#include "cli/show/node_view.h"
#include "cli/show/output.h"
#include "cli/show/page.h"
#include "cli/verbs.h"
#include "cli/verbs/node_pages.h"

namespace keiko::cli {
namespace {

struct Given {
  OutputChoice output;
  std::vector<std::string> statuses;
  std::string node;
};

using MakeTable = std::function<Table(const v1::ListNodesResponse&, Time now)>;

Verb listing_verb(const std::string& name, const std::string& summary,
                  const MakeTable& make_table) {
  Verb verb;
  verb.name = name;
  verb.group = "Cluster";
  verb.summary = summary;
  verb.examples = {"keiko " + name + " -w", "keiko " + name + " -o wide"};
  verb.add_options = [make_table](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    Option& status = options.texts("--status", "STATUS", given->statuses,
                                   "only nodes of this status; may be repeated");
    status.choices = {"READY", "SLOW", "UNREACHABLE", "LOST", "CORDONED", "DRAINING"};
    status.completes = Completes::kChoices;
    add_output_options(options, given->output);
    return [given, make_table](Invocation& call) -> Result<int> {
      Client* const client = TRY(call.connection.client());
      return show_listing(given->output, call.console, [&]() -> Result<Listing> {
        v1::ListNodesRequest request;
        for (const std::string& word : given->statuses) request.add_statuses(word);
        const auto nodes = TRY(all_nodes(*client, request));
        Listing listing;
        listing.table = make_table(*nodes, call.console.now());
        listing.message = nodes.get();
        listing.owner = nodes;
        if (nodes->nodes().empty())
          listing.note = "no nodes; start one: keiko agent --join HOST:PORT";
        return listing;
      });
    };
  };
  return verb;
}

}  // namespace

Verb verb_nodes() {
  return listing_verb("nodes", "List the machines of the pool",
                      [](const v1::ListNodesResponse& nodes, Time now) {
                        return nodes_table(nodes.nodes(), now);
                      });
}

Verb verb_devices() {
  return listing_verb("devices", "List the accelerators and who has them",
                      [](const v1::ListNodesResponse& nodes, Time) {
                        return devices_table(nodes.nodes());
                      });
}

Verb verb_node() {
  Verb verb;
  verb.name = "node";
  verb.group = "Cluster";
  verb.summary = "All about one node: devices, links, what runs there";
  verb.examples = {"keiko node node1"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    options.positional("NODE", given->node, "the node's name or id").completes = Completes::kNode;
    add_output_options(options, given->output);
    return [given](Invocation& call) -> Result<int> {
      Client* const client = TRY(call.connection.client());
      v1::GetNodeRequest request;
      request.set_node(given->node);
      return show_page(given->output, call.console, [&]() -> Result<Page> {
        auto node = std::make_shared<v1::Node>(TRY(client->get_node(request)));
        google::protobuf::RepeatedPtrField<v1::Node> alone;
        *alone.Add() = *node;
        return Page{node->name(), node_page(*node, call.console),
                    nodes_table(alone, call.console.now()), node};
      });
    };
  };
  return verb;
}

}  // namespace keiko::cli
