// The node's folder of logs: what earlier agents left, and what may go.
#include "agent/log_shipper.h"
#include "base/log.h"
#include "base/text.h"

namespace keiko::agent {
namespace {

constexpr std::chrono::minutes kSweepEvery{1};
constexpr std::chrono::seconds kSweepEveryWhenShort{2};
/// A sweep takes at most such a part of the thread's time.
constexpr int kSweepPart = 20;

}  // namespace

void LogShipper::sweep_if_due(bool at_once) {
  if (!adopted_ || (!at_once && Steady::now() < sweep_at_)) return;
  const auto began = Steady::now();
  sweep();
  const auto now = Steady::now();
  no_sweep_before_ = now + (now - began) * kSweepPart;
  const auto every = is_short_ ? Steady::duration(kSweepEveryWhenShort) : kSweepEvery;
  sweep_at_ = std::max(no_sweep_before_, now + every);
}

/// Ships what nobody else will, and removes what goes by the retention options.
void LogShipper::sweep() {
  std::vector<logship::NodeOutput> outputs = folder_.list();
  for (logship::NodeOutput& output : outputs) {
    const LogName out{output.worker, LogStream::kOut};
    const LogName err{output.worker, LogStream::kErr};
    const bool shipping = state_.knows(out) || state_.knows(err);
    output.runs = live_.count(output.worker) != 0 || shipping;
    if (output.runs || output.shipped) continue;
    state_.set_size(out, folder_.size_of(out), true);
    state_.set_size(err, folder_.size_of(err), true);
  }
  for (const logship::NodeRemoval& removal :
       logship::plan_node_removals(outputs, options_.retention, is_short_)) {
    folder_.remove(removal.worker);
    log_debug("output_removed", "worker=" + to_text(removal.worker) + " why=" +
                                    quote_text(removal.why));
  }
  folder_.remove_empty_folders();
}

}  // namespace keiko::agent
