// StateFolder: the agent's state directory, held by one agent at a time.
//
// It keeps who this agent is (`instance`, made once), and until when its workers may run without the
// server (`lease`). Everything else in it belongs to the substrate. For the loop thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace keiko::agent {

class StateFolder {
 public:
  /// Makes the folder where it is missing and locks it; the lock goes with this object or process.
  /// REQUIRES: an absolute path. RETURNS: kFailedPrecondition naming the other agent's pid, or the
  /// newer version that wrote it; else what the file system said.
  static Result<StateFolder> open(const std::string& path);

  StateFolder(StateFolder&& other) noexcept;
  StateFolder& operator=(StateFolder&&) = delete;
  ~StateFolder();

  const std::string& path() const { return path_; }
  /// RETURNS: 32 hexadecimal digits, the same at every start over this folder.
  const std::string& instance() const { return instance_; }

  /// Remembers the lease's end past this process's death. Kept on the clock that runs since boot,
  /// since the next agent's clock may start elsewhere; `now` is the present on the caller's clock.
  /// Not flushed to disk: a crash of the machine ends the workers as well.
  Done write_lease(Time lease_end, Time now);

  /// RETURNS: the lease's end on the caller's clock; nothing if there was none since boot.
  std::optional<Time> read_lease(Time now) const;

 private:
  explicit StateFolder(std::string path) : path_(std::move(path)) {}
  Done lock();
  Done check_format() const;
  Done load_instance();

  std::string path_;
  std::string instance_;
  std::string boot_id_;
  int lock_fd_ = -1;
  int lease_fd_ = -1;
};

/// RETURNS: what the kernel calls this boot; empty where it does not say.
std::string boot_id();

}  // namespace keiko::agent
