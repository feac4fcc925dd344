// Port LogStore: where the server keeps workers' output: a folder, later an object store.
//
// A log only grows, until it has ended. What sync() has made durable stays whatever happens; of
// what came after it a crash leaves a beginning, never a hole and never foreign bytes. Each append
// is marked with the time at which it came. Safe from any thread; sync() and read() may wait for a
// disk, the others do so as well where a log is touched for the first time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "model/logs/log_name.h"

namespace keiko {

struct LogExtent {
  int64_t size = 0;
  bool ended = false;  ///< and there will never be more
};

struct LogQuery {
  LogName name;
  int64_t offset = 0;
  size_t most = 0;     ///< bytes
  bool times = false;  ///< with marks
};

struct LogText {
  std::string data;
  std::vector<LogMark> marks;  ///< if asked for; the first is at or before the first byte
};

struct KeptLogs {
  JobId job;
  Bytes size;
  WallTime newest;  ///< when it was last written
};

class LogStore {
 public:
  virtual ~LogStore() = default;

  /// RETURNS: kNotFound if there is nothing of it; kFailedPrecondition with when and why if the
  /// job's logs were removed.
  virtual Result<LogExtent> extent(const LogName& name) = 0;

  /// Adds to the end; a log is made by its first append, be it empty. All or nothing of `data` is
  /// there afterwards. To end a log again changes nothing; the next sync() makes sure of the end.
  /// RETURNS: kFailedPrecondition for more to a log that has ended, and for one that was removed;
  /// else what the medium said, kResourceExhausted if it is full.
  virtual Done append(const LogName& name, std::string_view data, bool ended, WallTime at) = 0;

  /// Makes durable what was appended before the call. After an Error, what was not durable yet may
  /// be gone: ask for the extents again.
  virtual Done sync() = 0;

  /// RETURNS: up to `most` bytes from `offset`, fewer only at the present end; errors as extent().
  virtual Result<LogText> read(const LogQuery& query) = 0;

  /// RETURNS: where what came at `since` or later begins; the size if nothing did.
  virtual Result<int64_t> offset_since(const LogName& name, WallTime since) = 0;

  /// RETURNS: each job's, in the order of their ids. It looks at every file: rarely, please.
  virtual Result<std::vector<KeptLogs>> usage() = 0;

  /// RETURNS: what the medium has left for more; cheap.
  virtual Result<Bytes> free_space() = 0;

  /// Removes all logs of a job for good; `why` is what readers will be told.
  virtual Done remove(JobId job, const std::string& why) = 0;
};

}  // namespace keiko
