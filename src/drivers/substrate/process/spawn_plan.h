// SpawnPlan: how posix_spawn(3) is to start a program: quick for the caller however large and
// threaded it is, with the descriptors that were handed over and no others. For one thread.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "drivers/substrate/process/files.h"

namespace keiko::process {

class SpawnPlan {
 public:
  enum class Group { kSession, kProcessGroup };  ///< of its own
  /// Every signal is at its default; a program that begins with all blocked waits for them itself.
  enum class Signals { kBlocked, kOpen };

  SpawnPlan(Group group, Signals signals);
  ~SpawnPlan();
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  /// The program finds `fd` as `number`. RETURNS: false with errno set if there is no descriptor
  /// left for the copy.
  bool hand_over(int fd, int number);
  /// For what else is to be done, in order with the descriptors.
  posix_spawn_file_actions_t* actions() { return &actions_; }

  /// Starts words[0], a path, with `environment`, which ends with nullptr.
  /// RETURNS: 0 once the exec is done, with the caller's child in `pid`; else the error's number.
  int start(std::vector<std::string> words, char* const* environment, pid_t& pid);

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
  std::vector<Fd> copies_;
};

}  // namespace keiko::process
