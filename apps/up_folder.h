// The state directory of `keiko up`: made, and held by one supervisor at a time.
#pragma once

#include <string>

#include "base/result.h"
#include "up_options.h"

namespace keiko::up {

std::string log_path(const std::string& state_dir, const std::string& process);
std::string agent_dir(const std::string& state_dir, const std::string& node);

/// Makes the folders that the server, the agents and the logs need.
Done make_folders(const UpOptions& options);

/// Holds the lock until it is destroyed; the kernel drops it with the process.
class FolderLock {
 public:
  FolderLock() = default;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

  /// RETURNS: kAlreadyExists naming the pid that holds it.
  Done take(const std::string& state_dir);

 private:
  int fd_ = -1;
};

}  // namespace keiko::up
