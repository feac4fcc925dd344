// Which cores a worker is bound to: those of the NUMA nodes that its accelerators hang on, shared
// out among the accelerators there, so that workers of one machine are not in each other's way.
//
//   NUMA node 0: cores 0-15            a worker with GPU 1:       4-7
//     GPU 0   GPU 1   GPU 2   GPU 3    with GPUs 1 and 2:         4-11
//      0-3     4-7    8-11    12-15    with GPU 1 and 6 cores:    4-7 and two that nobody has
//
// Pure. A worker that is bound to nothing may run everywhere, and so do those without accelerators.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "model/node.h"
#include "model/worker.h"

namespace keiko::node {

/// `usable`: the hardware threads that the agent itself may run on; `taken`: those that workers of
/// the node are bound to now. Threads of one core go together. The share of a device is its place
/// among all devices of its NUMA node, so it is the same over restarts; a worker that asks for more
/// gets more, and meets others on a core only where there are too few.
/// RETURNS: hardware threads in order; empty, which binds to nothing: for cpu slots, where all
/// cores are equally near, where a device's NUMA node is unknown or has no cores, and where the
/// worker asks for more than is near.
std::vector<int32_t> near_cores(const NodeSpec& node, const std::vector<int32_t>& usable,
                                const WorkerLaunch& launch, const std::set<int32_t>& taken);

}  // namespace keiko::node
