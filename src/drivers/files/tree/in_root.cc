#include "drivers/files/tree/in_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace keiko::tree {

int open_in_root(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>(O_PATH | O_CLOEXEC | flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
}

}  // namespace keiko::tree
