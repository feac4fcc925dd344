// keiko-init: the first process of a worker's container. Statically linked and without anything of
// ours in it, since it runs inside images of any kind.
//
// It runs its arguments as a program, collects whatever children are left to it, and says at
// descriptor 4 how the program ended: process 1 of a PID namespace cannot die of a signal itself.
// When it ends, the kernel kills everything else inside. Descriptor 3 tells a failed exec and
// closes by itself when the exec succeeds. Descriptor 5 may be the lock of the image's files, held
// by being open.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kStatusFd = 3;
constexpr int kEndFd = 4;
constexpr int kLockFd = 5;

[[noreturn]] void run_program(char** argv) {
  execvp(argv[0], argv);
  const int error = errno;
  const char* const path = std::getenv("PATH");
  if (std::strchr(argv[0], '/') == nullptr && path != nullptr) {
    dprintf(kStatusFd, "fcannot run '%s' in the image: %s (looked in PATH=%s)\n", argv[0],
            std::strerror(error), path);
  } else {
    dprintf(kStatusFd, "fcannot run '%s' in the image: %s\n", argv[0], std::strerror(error));
  }
  _exit(127);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();
  fcntl(kStatusFd, F_SETFD, FD_CLOEXEC);
  fcntl(kEndFd, F_SETFD, FD_CLOEXEC);
  fcntl(kLockFd, F_SETFD, FD_CLOEXEC);
  const pid_t program = fork();
  if (program == 0) run_program(argv + 1);
  if (program < 0) {
    dprintf(kStatusFd, "fcannot fork in the image: %s\n", std::strerror(errno));
    return 127;
  }
  close(kStatusFd);
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) return 1;
    if (ended != program) continue;
    dprintf(kEndFd, "%d\n", status);
    return 0;
  }
}
