// LogSweeper: removes logs by the retention options, on a thread of its own, as it looks at every
// file. What it removed is told in the event stream and, for ever, to who asks for those logs.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "core/logship/retention.h"
#include "ports/logs/log_store.h"
#include "server/options.h"

namespace keiko::server {

class LogSweeper {
 public:
  using Announce = std::function<void(const std::string& event, const std::string& text)>;
  /// How long each of these jobs has been over; nothing for one that is not, or that is not known.
  /// Called on the sweeper's thread; may wait for the loop. An Error: not now.
  using AskEnds = std::function<Result<std::map<JobId, Duration>>(const std::vector<JobId>&)>;

  LogSweeper(LogStore& store, const LogOptions& options, AskEnds ask_ends, Announce announce);
  ~LogSweeper();

  /// Ends the thread. Idempotent.
  void stop();

 private:
  void run();
  Done sweep();
  Result<std::vector<logship::KeptJob>> look();

  LogStore& store_;
  const LogOptions options_;
  const AskEnds ask_ends_;
  const Announce announce_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace keiko::server
