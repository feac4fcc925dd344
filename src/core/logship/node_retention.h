// Which workers' output goes from the node that it was written on. Pure.
//
// The server has its own copy by then (core/logship/retention.h rules that one), so the node's may
// go at any time; it is kept for whoever looks on the machine itself.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "model/worker.h"

namespace keiko::logship {

struct NodeRetentionOptions {
  /// A worker's output goes so long after the server has all of it; 0: at once.
  Duration keep = hours(1);
  /// Workers whose output lies here, more than this and the oldest goes; 0: no limit. 10,000 are a
  /// fifth of a second to look through.
  int64_t workers = 10'000;
  /// What all output here may take, more than this and the oldest goes; 0: no limit.
  Bytes total = gibibytes(10);
};

/// The output of one worker, as it lies on the node.
struct NodeOutput {
  WorkerKey worker;
  Bytes size;
  bool runs = false;       ///< it may write more
  bool end_told = false;   ///< the server has its end for good
  bool shipped = false;    ///< the server has all of it for good
  Duration since_shipped;  ///< of what is shipped
};

struct NodeRemoval {
  WorkerKey worker;
  std::string why;         ///< for the agent's log
};

/// RETURNS: what to remove, oldest first. Never what runs, whose end the server lacks, or whose
/// output it lacks, even if the limits are passed for want of anything else to remove. With
/// `short_of_room`, of a disk that is nearly full, all the rest.
std::vector<NodeRemoval> plan_node_removals(const std::vector<NodeOutput>& outputs,
                                            const NodeRetentionOptions& options,
                                            bool short_of_room);

}  // namespace keiko::logship
