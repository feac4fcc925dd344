// LogWatch: which logs under the node's folder have grown, by inotify. For one thread.
//
// A folder of an attempt is watched, not each file, so that a log that is made later is seen, too.
// Where the kernel gives no inotify, take() names nothing and the caller looks by time.
#pragma once

#include <map>
#include <set>
#include <string>

#include "model/logs/log_name.h"

namespace keiko::agent {

class LogWatch {
 public:
  explicit LogWatch(std::string logs_dir);
  ~LogWatch();
  LogWatch(const LogWatch&) = delete;
  LogWatch& operator=(const LogWatch&) = delete;

  /// To poll for reading; -1 without inotify.
  int fd() const { return fd_; }

  /// Watches the logs of a job's attempt; makes their folder. RETURNS: whether it is watched.
  bool add(const WorkerKey& key);
  void remove(const WorkerKey& key);

  struct News {
    std::set<LogName> grown;
    bool lost = false;   ///< too much happened: any of them may have grown
  };
  News take();

 private:
  using Attempt = std::pair<JobId, int32_t>;

  const std::string logs_dir_;
  int fd_ = -1;
  std::map<Attempt, int> watches_;
  std::map<int, Attempt> attempts_;
};

/// RETURNS: the log that a file of an attempt's folder is, "0.out"; false for other names.
bool parse_log_file(const std::string& file, LogName& name);

}  // namespace keiko::agent
