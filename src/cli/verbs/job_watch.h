// Staying with one job until it ends: for `run` and `watch`.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "wire/client.h"

namespace keiko::cli {

/// How often the job is asked for. Four pictures a second are as many as an eye wants.
inline constexpr Duration kJobPeriod = milliseconds(250);

struct WatchOptions {
  std::function<void(const v1::Job&)> on_job;               ///< each time it was asked for
  std::function<void(const std::string&)> on_notice;        ///< the server is away, or is back
  bool cancel_at_interrupt = false;  ///< the first Ctrl-C cancels the job; else it ends the watch
  /// Once the job is final: whether all is shown. Asked for kPatience at most.
  std::function<bool()> may_end = [] { return true; };
  Duration patience = seconds(10);   ///< for may_end
};

struct WatchEnd {
  v1::Job job;            ///< the last that was seen
  bool detached = false;  ///< left by Ctrl-C before the end
  bool cancelling = false;
};

/// Returns when the job is final or the user left. A server that cannot be reached is waited for.
/// RETURNS: errors that waiting does not cure, such as kNotFound.
Result<WatchEnd> watch_job(Client& client, const std::string& job, const WatchOptions& options,
                           const Console& console);

/// Says how it ended, if there is something to say. RETURNS: the exit status.
int end_of_watch(const WatchEnd& end, const Console& console);

/// Shows the live view until the end. RETURNS: the exit status.
Result<int> watch_live(Client& client, const std::string& job, bool cancel_at_interrupt,
                       const Console& console);

}  // namespace keiko::cli
