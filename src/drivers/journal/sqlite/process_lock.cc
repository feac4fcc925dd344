#include "drivers/journal/sqlite/process_lock.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace keiko::sqlite {
namespace {

/// RETURNS: what the holder wrote into the lock file, or "unknown" before it did.
std::string holder_pid(int file) {
  char text[32];
  const ssize_t size = pread(file, text, sizeof text, 0);
  std::string pid;
  for (ssize_t i = 0; i < size && text[i] >= '0' && text[i] <= '9'; ++i) pid += text[i];
  return pid.empty() ? "unknown" : pid;
}

}  // namespace

ProcessLock::~ProcessLock() {
  if (file_ >= 0) close(file_);
}

Done ProcessLock::take(const std::string& directory) {
  if (file_ >= 0) return done();
  const std::string path = directory + "/journal.lock";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return errno_error("open the lock file " + path, errno);
  // The lock belongs to the open file, not to the process, so a second journal in the same process
  // is told apart as well, and closing an unrelated descriptor does not drop it.
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(file, F_OFD_SETLK, &whole) != 0) {
    const int lock_errno = errno;
    const std::string pid = holder_pid(file);
    close(file);
    if (lock_errno != EAGAIN && lock_errno != EACCES) {
      return errno_error("lock " + path, lock_errno);
    }
    return failed_precondition("the journal in " + directory + " is held by process " + pid +
                               "; stop that server first, or use another state directory");
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(file, 0) != 0 || pwrite(file, pid.data(), pid.size(), 0) < 0) {
    // The pid is for messages only; on a full disk the lock holds all the same.
  }
  file_ = file;
  return done();
}

}  // namespace keiko::sqlite
