#include "drivers/substrate/process/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/shim.h"

namespace keiko::process {
namespace {

/// The attributes and file actions of one spawn; freed together.
struct SpawnPlan {
  SpawnPlan() {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
};

constexpr int kFirstFreeFd = 10;

}  // namespace

Result<pid_t> spawn_shim(const std::vector<std::string>& command, const std::string& folder,
                         int folder_lock, int port_lock) {
  SpawnPlan plan;
  sigset_t all;
  sigfillset(&all);
  // Blocked signals are kept for the shim's loop; at their default, a signal before it would kill.
  posix_spawnattr_setsigmask(&plan.attributes, &all);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setflags(&plan.attributes, static_cast<short>(POSIX_SPAWN_SETSID |
                                                                POSIX_SPAWN_SETSIGMASK |
                                                                POSIX_SPAWN_SETSIGDEF));
  const std::string log = folder + "/shim.log";
  // Copies far above the numbers they go to, so that neither overwrites the other on its way.
  const Fd folder_copy(fcntl(folder_lock, F_DUPFD_CLOEXEC, kFirstFreeFd));
  const Fd port_copy(port_lock >= 0 ? fcntl(port_lock, F_DUPFD_CLOEXEC, kFirstFreeFd) : -1);
  if (!folder_copy || (port_lock >= 0 && !port_copy)) {
    return errno_error("cannot hand locks to a shim", errno);
  }
  posix_spawn_file_actions_adddup2(&plan.actions, folder_copy.get(), kFolderLockFd);
  if (port_copy) posix_spawn_file_actions_adddup2(&plan.actions, port_copy.get(), kPortLockFd);
  posix_spawn_file_actions_addopen(&plan.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&plan.actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&plan.actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&plan.actions,
                                           port_copy ? kPortLockFd + 1 : kPortLockFd);
  std::vector<std::string> words = command;
  words.push_back(folder);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, argv[0], &plan.actions, &plan.attributes, argv.data(), environ);
  if (error != 0) return errno_error("cannot start the shim " + join(words, " "), error);
  return pid;
}

}  // namespace keiko::process
