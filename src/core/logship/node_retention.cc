#include "core/logship/node_retention.h"

#include <algorithm>

namespace keiko::logship {
namespace {

bool may_go(const NodeOutput& output) {
  return !output.runs && output.end_told && output.shipped;
}

/// RETURNS: why the oldest of `count` outputs with `total` bytes goes; empty if it stays.
std::string why_gone(const NodeOutput& oldest, int64_t count, Bytes total,
                     const NodeRetentionOptions& options) {
  if (oldest.since_shipped >= options.keep) {
    return "the server has it for " + to_text(options.keep) + " or longer (--log-keep)";
  }
  if (options.workers > 0 && count > options.workers) {
    return "output of " + std::to_string(count) + " workers lay here, and that of " +
           std::to_string(options.workers) + " is kept (--log-workers)";
  }
  if (options.total.count > 0 && total > options.total) {
    return "all output here took " + to_text(total) + ", and " + to_text(options.total) +
           " is kept (--log-total)";
  }
  return {};
}

}  // namespace

std::vector<NodeRemoval> plan_node_removals(const std::vector<NodeOutput>& outputs,
                                            const NodeRetentionOptions& options,
                                            bool short_of_room) {
  auto count = static_cast<int64_t>(outputs.size());
  Bytes total;
  std::vector<const NodeOutput*> oldest_first;
  for (const NodeOutput& output : outputs) {
    total = total + output.size;
    if (may_go(output)) oldest_first.push_back(&output);
  }
  std::sort(oldest_first.begin(), oldest_first.end(),
            [](const NodeOutput* a, const NodeOutput* b) {
              if (a->since_shipped != b->since_shipped) return a->since_shipped > b->since_shipped;
              return a->worker < b->worker;
            });
  std::vector<NodeRemoval> removals;
  for (const NodeOutput* output : oldest_first) {
    std::string why = short_of_room ? "the disk is nearly full, and the server has it"
                                    : why_gone(*output, count, total, options);
    if (why.empty()) break;  // those that follow are younger, and no less fits
    removals.push_back({output->worker, std::move(why)});
    --count;
    total = total - output->size;
  }
  return removals;
}

}  // namespace keiko::logship
