// Reading a worker's output over the agent's stream, as plain structs.
//
// The server pulls: it asks for a window of bytes and asks again when its client has taken them, so
// a client that does not read holds nothing up but its own read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/logs/log_name.h"

namespace keiko {

/// Server to agent: read at most `max_bytes` from `offset` (negative: before the present end).
struct LogRead {
  uint64_t request = 0;
  WorkerKey key;
  LogStream stream = LogStream::kOut;
  int64_t offset = 0;
  int64_t max_bytes = 0;
  bool follow = false;   ///< at the end of the file wait for more, until the worker has ended
  // Of the server's own reads; they do not travel.
  bool times = false;    ///< with marks
  WallTime since;        ///< only what came then or later
};

/// Agent to server. The read is over after a chunk with `ended` or `error`, with `eof` unless it
/// follows, or when max_bytes have been sent in all.
struct LogChunk {
  uint64_t request = 0;
  int64_t offset = 0;    ///< of the first byte
  std::string data;      ///< at most kMaxLogChunk
  bool eof = false;      ///< the file ends here for now
  bool ended = false;    ///< and for ever: the worker has ended
  std::string error;     ///< a sentence; nothing could be read
  std::vector<LogMark> marks;  ///< of the server's own reads, if asked for; they do not travel
};

inline constexpr size_t kMaxLogChunk = 64 * 1024;

}  // namespace keiko
