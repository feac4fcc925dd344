#include "drivers/substrate/process/image/image_visit.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/image/confinement.h"

namespace keiko::process {
namespace {

[[noreturn]] void fail(int status, const std::string& why) {
  write_all(status, kStatusFailed + why + "\n");
  _exit(127);
}

/// All signals but SIGKILL are blocked here since the keeper began: the command gets its own.
[[noreturn]] void relay(pid_t command) {
  // Of all that the keeper handed on, only the command itself may hold streams open.
  close_range(0, ~0U, 0);
  int status = 0;
  while (waitpid(command, &status, 0) < 0 && errno == EINTR) continue;
  if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(WTERMSIG(status), SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  raise(WTERMSIG(status));
  _exit(128 + WTERMSIG(status));
}

}  // namespace

void enter_image(int worker, const LaunchRecord& launch, const WorkerCgroup& cgroup, int status) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  hold_limits(launch, cgroup, status);
  if (setns(worker, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC) != 0) {
    fail(status, std::string("cannot enter the worker's container: ") + std::strerror(errno));
  }
  const pid_t command = fork();
  if (command < 0) fail(status, std::string("cannot fork: ") + std::strerror(errno));
  if (command > 0) relay(command);
  const Done confined = confine_self();
  if (!confined.ok()) fail(status, confined.error().message);
}

}  // namespace keiko::process
