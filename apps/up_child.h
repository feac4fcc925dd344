// One process of the pool as its supervisor sees it: how to start it, whether it lives, when it may
// be started again.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "up_process.h"

namespace keiko::up {

using SteadyTime = std::chrono::steady_clock::time_point;

class Child {
 public:
  Child(std::string name, std::vector<std::string> argv, std::string log)
      : name_(std::move(name)), argv_(std::move(argv)), log_(std::move(log)) {}
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  const std::string& name() const { return name_; }
  const std::string& log() const { return log_; }
  const process::ProcessIdentity& identity() const { return identity_; }
  bool lives() const { return process::is_alive(identity_); }
  int pidfd() const { return pidfd_; }  ///< readable when it ends; -1 while it is not started
  SteadyTime restart_at() const { return restart_at_; }

  /// From the next start on.
  void set_argv(std::vector<std::string> argv) { argv_ = std::move(argv); }
  Done start();
  void adopt(const process::ProcessIdentity& identity);
  void signal(int number) const {
    [[maybe_unused]] const Done sent = signal_process(identity_, number);  // same user
  }

  /// It was seen to be dead: frees it and sets when to start it again. RETURNS: how it ended.
  std::string bury();

 private:
  void close_pidfd();
  void watch(const process::ProcessIdentity& identity);

  std::string name_;
  std::vector<std::string> argv_;
  std::string log_;
  process::ProcessIdentity identity_;
  int pidfd_ = -1;
  SteadyTime started_at_;
  SteadyTime restart_at_;
  std::chrono::milliseconds pause_{0};
};

}  // namespace keiko::up
