#include "drivers/substrate/process/spawn.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "drivers/substrate/process/shim.h"
#include "drivers/substrate/process/spawn_plan.h"

namespace keiko::process {

Result<pid_t> spawn_shim(const std::vector<std::string>& command, const std::string& folder,
                         int folder_lock, int port_lock) {
  // Blocked signals are kept for the shim's loop; at their default, a signal before it would kill.
  SpawnPlan plan(SpawnPlan::Group::kSession, SpawnPlan::Signals::kBlocked);
  const bool has_port = port_lock >= 0;
  if (!plan.hand_over(folder_lock, kFolderLockFd) ||
      (has_port && !plan.hand_over(port_lock, kPortLockFd))) {
    return errno_error("cannot hand locks to a shim", errno);
  }
  const std::string log = folder + "/shim.log";
  posix_spawn_file_actions_addopen(plan.actions(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(plan.actions(), STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(plan.actions(), STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(plan.actions(),
                                           has_port ? kPortLockFd + 1 : kPortLockFd);
  std::vector<std::string> words = command;
  words.push_back(folder);
  pid_t pid = 0;
  const int error = plan.start(words, environ, pid);
  if (error != 0) return errno_error("cannot start the shim " + join(words, " "), error);
  return pid;
}

}  // namespace keiko::process
