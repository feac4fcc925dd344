// keiko topology: how devices, NICs and NUMA nodes of the pool hang together.
#include <memory>

#include "cli/show/output.h"
#include "cli/show/page.h"
#include "cli/show/topology_view.h"
#include "cli/verbs.h"

namespace keiko::cli {
namespace {

/// Nodes with links and NICs are large, and a message of gRPC is at most 4 MiB.
constexpr int32_t kNodesPerPage = 50;

struct Given {
  OutputChoice output;
  std::string node;
};

Result<std::vector<NodeSpec>> all_nodes(Client& client) {
  std::vector<NodeSpec> nodes;
  v1::ListNodesRequest request;
  request.set_page_size(kNodesPerPage);
  request.set_with_topology(true);
  do {
    const v1::ListNodesResponse page = TRY(client.list_nodes(request));
    for (const v1::Node& node : page.nodes()) nodes.push_back(TRY(topology_of(node)));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return nodes;
}

Result<Listing> list_all(Client& client) {
  const std::vector<NodeSpec> nodes = TRY(all_nodes(client));
  auto message = std::make_shared<v1::Topology>();
  for (const NodeSpec& node : nodes) *message->add_nodes() = topology_message(node);
  Listing listing;
  listing.table = topology_table(nodes);
  listing.message = message.get();
  listing.owner = message;
  listing.note = nodes.empty() ? "no nodes; start one: keiko agent --join HOST:PORT"
                               : "tree and matrix of one: keiko topology " + nodes.front().name;
  return listing;
}

Result<Page> show_one(Client& client, const std::string& name, const Console& console) {
  v1::GetNodeRequest request;
  request.set_node(name);
  const v1::Node answer = TRY(client.get_node(request));
  const NodeSpec node = TRY(topology_of(answer));
  auto message = std::make_shared<v1::NodeTopology>(topology_message(node));
  return Page{node.name, topology_page(node, console), topology_table({node}), message};
}

VerbRun add_options(OptionSet& options) {
  auto given = std::make_shared<Given>();
  Option& node = options.positional("NODE", given->node, "the node's name or id; all if left out");
  node.required = false;
  node.completes = Completes::kNode;
  add_output_options(options, given->output);
  return [given](Invocation& call) -> Result<int> {
    Client* const client = TRY(call.connection.client());
    if (given->node.empty()) {
      return show_listing(given->output, call.console, [&] { return list_all(*client); });
    }
    return show_page(given->output, call.console,
                     [&] { return show_one(*client, given->node, call.console); });
  };
}

}  // namespace

Verb verb_topology() {
  Verb verb;
  verb.name = "topology";
  verb.group = "Cluster";
  verb.summary = "How devices, NICs and NUMA nodes hang together";
  verb.examples = {"keiko topology", "keiko topology node1", "keiko topology node1 -o json"};
  verb.about =
      "Without NODE a line for each node; with it the tree of its PCI buses and the matrix of its "
      "devices and NICs, whose legend stands below it.";
  verb.add_options = &add_options;
  return verb;
}

}  // namespace keiko::cli
