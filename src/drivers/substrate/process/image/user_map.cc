#include "drivers/substrate/process/image/user_map.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace keiko::process {
namespace {

Result<Fd> map_of_child(pid_t child) {
  const std::string folder = "/proc/" + std::to_string(child);
  const std::string map =
      "0 " + std::to_string(kImageUsersFirst) + " " + std::to_string(kImageUsers);
  for (const char* const file : {"/uid_map", "/gid_map"}) {
    if (write_control(folder + file, map)) continue;
    return errno_error("cannot write " + folder + file, errno);
  }
  Fd space(open((folder + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!space) return errno_error("cannot open " + folder + "/ns/user", errno);
  return space;
}

}  // namespace

Result<Fd> make_user_map() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno_error("cannot make a pipe", errno);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) return errno_error("cannot fork", errno);
  if (child == 0) {
    // It lives in the namespace for as long as that takes to be opened.
    const char made = unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';
    if (write(write_end.get(), &made, 1) != 1) _exit(1);
    while (true) pause();
  }
  write_end.reset();
  char made = 'n';
  while (read(read_end.get(), &made, 1) < 0 && errno == EINTR) continue;
  Result<Fd> map = made == 'y' ? map_of_child(child)
                               : failed_precondition("this process may not make user namespaces");
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  return map;
}

Result<Fd> copy_mounts(const Fd& source) {
  const unsigned flags = AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
  Fd copy(open_tree(source.get(), "", flags));
  if (!copy) return errno_error("cannot copy a mount", errno);
  return copy;
}

bool lay_user_map(const Fd& copy, const Fd& map) {
  mount_attr wanted{};
  wanted.attr_set = MOUNT_ATTR_IDMAP;
  wanted.userns_fd = static_cast<uint64_t>(map.get());
  return mount_setattr(copy.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &wanted, sizeof wanted) == 0;
}

}  // namespace keiko::process
