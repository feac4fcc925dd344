// The tree of one node: NUMA nodes, host bridges, switches, and the devices and NICs below them.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "model/node.h"

namespace keiko::cli {

/// RETURNS: the tree as lines within the terminal's width, the node's name and `head` first.
/// Bridges with one thing below are left out, except those of the host.
std::vector<std::string> topology_tree(const NodeSpec& node, const std::string& head,
                                       const Console& console);

/// RETURNS: "0-3,7" for numbers in order.
std::string ranges_text(const std::vector<int32_t>& numbers);

/// RETURNS: "400 Gb/s", "2.5 Gb/s", "100 Mb/s"; empty for 0.
std::string rate_text(int64_t megabits_per_s);

}  // namespace keiko::cli
