// LogName: one stream of output of one worker. What names a log on the node names it on the server.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "model/worker.h"

namespace keiko {

enum class LogStream : int { kOut = 0, kErr = 1 };
std::string to_text(LogStream stream);  ///< "out" "err"

/// RETURNS: kInvalidArgument with the two words for anything else.
Result<LogStream> parse_log_stream(std::string_view text);

struct LogName {
  WorkerKey worker;
  LogStream stream = LogStream::kOut;

  friend constexpr auto operator<=>(const LogName&, const LogName&) = default;
};
std::string to_text(const LogName& name);  ///< "j7.2.0.out"

/// The bytes of a log from `offset` on came at that time, up to the next mark.
struct LogMark {
  int64_t offset = 0;
  WallTime at;
};

/// RETURNS: the job of a folder's name "j7", none for other names.
JobId job_of_log_folder(std::string_view name);

/// Where a log lies under the folder of all logs, on the node and on the server alike:
/// "j7/2/0.out".
std::string log_path(const LogName& name);

}  // namespace keiko
