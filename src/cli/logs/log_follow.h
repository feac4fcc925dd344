// Reading a job's output through lost connections: what was printed already is not printed again.
#pragma once

#include <functional>
#include <stop_token>

#include "cli/show/log_printer.h"
#include "wire/client.h"

namespace keiko::cli {

struct FollowOptions {
  /// Called once when the stream breaks, with the reason; reading goes on as soon as it can.
  std::function<void(const Error&)> on_break = [](const Error&) {};
  /// Waits before the next try. RETURNS: false to give up.
  std::function<bool()> wait_to_retry = [] { return false; };
  /// Ends it early.
  std::stop_token stop = {};
};

/// Follows the request's streams until the job has ended or a stop is requested.
/// REQUIRES: request.follow().
Done follow_logs(Client& client, const v1::ReadLogsRequest& request, LogPrinter& printer,
                 const FollowOptions& options);

}  // namespace keiko::cli
