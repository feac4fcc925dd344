#include "agent/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/id.h"
#include "base/text.h"

namespace keiko::agent {
namespace {

/// Of the folder's layout; a greater one was written by a newer Keiko.
constexpr uint64_t kFormat = 1;

/// RETURNS: at most 4 KiB from the start of the file, empty if there is none.
std::string read_small(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char buffer[4096];
  const ssize_t got = read(fd, buffer, sizeof buffer);
  close(fd);
  return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : std::string();
}

/// Whole or not at all, also over a crash of the machine.
Done write_durably(const std::string& path, const std::string& text) {
  const std::string half = path + ".half";
  const int fd = open(half.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return errno_error("cannot write " + half, errno);
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       fsync(fd) == 0;
  const int why = errno;
  close(fd);
  if (!written) return errno_error("cannot write " + half, why);
  if (rename(half.c_str(), path.c_str()) != 0) return errno_error("cannot write " + path, errno);
  return done();
}

Result<std::string> random_name() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
    return errno_error("cannot draw a random name", errno);
  }
  std::string name;
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    name += digits;
  }
  return name;
}

}  // namespace

std::string boot_id() {
  return std::string(trim(read_small("/proc/sys/kernel/random/boot_id")));
}

Result<StateFolder> StateFolder::open(const std::string& path) {
  if (path.empty() || path[0] != '/') {
    return invalid_argument("the state directory '" + path + "' must be an absolute path");
  }
  std::error_code failed;
  // Logs and environments of jobs lie here: a folder that is made here is its user's alone.
  if (std::filesystem::create_directories(path, failed)) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, failed);
  }
  if (failed) {
    return errno_error("cannot make the state directory " + path + "; choose another with --state",
                       failed.value());
  }
  StateFolder folder(path);
  TRY(folder.check_format());
  TRY(folder.lock());
  TRY(folder.mark_format());
  TRY(folder.load_instance());
  return folder;
}

StateFolder::StateFolder(StateFolder&& other) noexcept
    : path_(std::move(other.path_)),
      instance_(std::move(other.instance_)),
      lock_fd_(std::exchange(other.lock_fd_, -1)) {}

StateFolder::~StateFolder() {
  if (lock_fd_ >= 0) close(lock_fd_);
}

Done StateFolder::lock() {
  const std::string path = path_ + "/lock";
  lock_fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_fd_ < 0) {
    return errno_error("cannot open " + path + "; choose another folder with --state", errno);
  }
  if (flock(lock_fd_, LOCK_EX | LOCK_NB) != 0) {
    const std::string pid(trim(read_small(path)));
    return failed_precondition("another agent (pid " + (pid.empty() ? "unknown" : pid) +
                               ") uses the state directory " + path_ +
                               "; stop it, or give this one a folder of its own with --state");
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(lock_fd_, 0) != 0 || pwrite(lock_fd_, pid.data(), pid.size(), 0) < 0) {
    return errno_error("cannot write " + path, errno);
  }
  return done();
}

/// Before anything is written: a newer agent's folder stays as it is.
Done StateFolder::check_format() const {
  const std::string text(trim(read_small(path_ + "/format")));
  uint64_t format = 0;
  if (parse_digits(text, format) && format > kFormat) {
    return failed_precondition("the state directory " + path_ + " has format " + text +
                               ", this version knows up to " + std::to_string(kFormat) +
                               "; use the newer keiko that wrote it, or another folder");
  }
  return done();
}

Done StateFolder::mark_format() const {
  const std::string path = path_ + "/format";
  const std::string text = std::to_string(kFormat);
  return trim(read_small(path)) == text ? done() : write_durably(path, text + "\n");
}

Done StateFolder::load_instance() {
  const std::string path = path_ + "/instance";
  instance_ = trim(read_small(path));
  if (!instance_.empty()) return done();
  instance_ = TRY(random_name());
  return write_durably(path, instance_ + "\n");
}

Done StateFolder::store(const std::string& name, const std::string& bytes) const {
  return write_durably(path_ + "/" + name, bytes);
}

Result<health::DiskRoom> StateFolder::room() const {
  struct statvfs disk {};
  if (statvfs(path_.c_str(), &disk) != 0) return errno_error("statvfs " + path_, errno);
  const auto block = static_cast<int64_t>(disk.f_frsize);
  return health::DiskRoom{Bytes{static_cast<int64_t>(disk.f_bavail) * block},
                          Bytes{static_cast<int64_t>(disk.f_blocks) * block}};
}

Result<std::string> StateFolder::load(const std::string& name) const {
  std::ifstream file(path_ + "/" + name, std::ios::binary);
  if (!file) return not_found("there is no " + path_ + "/" + name);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace keiko::agent
