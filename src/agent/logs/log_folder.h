// LogFolder: what lies in a node's folder of workers' output, and the marks beside it.
//
//   <state>/logs/j7/2/0.out  0.err      what rank 0 of attempt 2 printed
//                     0.shipped         empty; since its time the server has all of it for good
//   <state>/workers/j7.2.0/             there until the server has the worker's end for good
//
// The folders alone say how a worker's output stands, so no crash makes it forgotten. Not
// thread-safe.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/logship/node_retention.h"
#include "model/logs/log_name.h"

namespace keiko::agent {

class LogFolder {
 public:
  /// Of an agent's state folder, absolute.
  explicit LogFolder(const std::string& state_dir);

  const std::string& path() const { return logs_dir_; }
  std::string path_of(const LogName& name) const { return logs_dir_ + "/" + log_path(name); }
  /// RETURNS: 0 if it is not there.
  int64_t size_of(const LogName& name) const;

  /// RETURNS: every worker with output or a mark here. `runs` is left to the caller.
  std::vector<logship::NodeOutput> list() const;

  /// Its output is the server's for good, from now on.
  void mark_shipped(const WorkerKey& worker) const;

  /// Removes a worker's output, and the folders that are empty then.
  void remove(const WorkerKey& worker) const;

  /// Removes folders of attempts that were empty for long: of workers that never came to print.
  void remove_empty_folders() const;

 private:
  std::string mark_of(const WorkerKey& worker) const;

  const std::string logs_dir_;
  const std::string workers_dir_;
};

}  // namespace keiko::agent
