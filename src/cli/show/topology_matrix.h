// The matrix of one node: how each device reaches every other device and NIC, as readers of
// `nvidia-smi topo -m` know it.
#pragma once

#include <string>

#include "cli/console.h"
#include "model/node.h"

namespace keiko::cli {

/// RETURNS: the matrix and the legend of what is in it, as lines, each ended. Where the terminal is
/// too narrow, the columns go on below. Empty for devices between which there is nothing to tell:
/// cpu slots without links.
std::string topology_matrix(const NodeSpec& node, const Console& console);

}  // namespace keiko::cli
