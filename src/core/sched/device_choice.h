// Which devices of a node to give: strongly linked ones together, linked sets left whole.
#pragma once

#include <vector>

#include "core/sched/pool_view.h"

namespace keiko::sched {

/// Chooses `count` free devices of `kind` that match `shape`.
/// The score of a set is the strength of the links inside it less half of the links cut to devices
/// that stay free; greedy from every start, which is exact for cliques and pairs. Of equal scores
/// the set with fewer incidents in its past is taken.
/// RETURNS: device indices in ascending order. REQUIRES: that many match.
std::vector<int32_t> choose_devices(const Slot& slot, const Shape& shape, const std::string& kind,
                                    int32_t count);

/// RETURNS: the mean strength of the links inside a set, 0 for less than two devices.
int64_t mean_link_strength(const NodeSpec& node, const std::vector<int32_t>& devices);

}  // namespace keiko::sched
