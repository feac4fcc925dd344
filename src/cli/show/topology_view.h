// How the topology of nodes looks: a table of all, the page of one, and both as messages.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/show/table.h"
#include "keiko/v1/node.pb.h"
#include "model/node.h"

namespace keiko::cli {

/// RETURNS: what a node's answer says of its topology, in the model's own types.
/// kInvalidArgument for words that this program does not know.
Result<NodeSpec> topology_of(const v1::Node& node);

/// RETURNS: a row for each node: devices, islands, NICs, where it stands.
Table topology_table(const std::vector<NodeSpec>& nodes);

/// RETURNS: one node's tree, matrix and legend.
std::string topology_page(const NodeSpec& node, const Console& console);

/// RETURNS: what -o json prints of one node.
v1::NodeTopology topology_message(const NodeSpec& node);

}  // namespace keiko::cli
