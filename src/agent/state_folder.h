// StateFolder: the agent's state directory, held by one agent at a time.
//
// It keeps who this agent is (`instance`, made once). Everything else in it, the workers and their
// logs above all, belongs to the substrate. REQUIRES: opened before the substrate is, so that two
// agents never share one.
#pragma once

#include <string>

#include "base/result.h"
#include "core/health/checks/disk_guard.h"

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

  /// Keeps bytes under a name, whole or not at all, also over a crash of the machine.
  Done store(const std::string& name, const std::string& bytes) const;
  /// RETURNS: what the folder's disk has for us, and how large it is.
  Result<health::DiskRoom> room() const;
  /// RETURNS: what was stored last; kNotFound if nothing was.
  Result<std::string> load(const std::string& name) const;

 private:
  explicit StateFolder(std::string path) : path_(std::move(path)) {}
  Done lock();
  Done check_format() const;
  Done mark_format() const;
  Done load_instance();

  std::string path_;
  std::string instance_;
  int lock_fd_ = -1;
};

/// RETURNS: what the kernel calls this boot; empty where it does not say.
std::string boot_id();

}  // namespace keiko::agent
