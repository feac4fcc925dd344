#include "drivers/substrate/process/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace keiko::process {

Result<std::string> read_file(const std::string& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error("cannot read " + path, errno);
  std::string out;
  char buffer[4096];
  while (true) {
    const ssize_t got = read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("cannot read " + path, errno);
    if (got == 0) return out;
    out.append(buffer, static_cast<size_t>(got));
  }
}

std::string read_tail(const std::string& path, int64_t count) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (!fd || fstat(fd.get(), &info) != 0) return {};
  const int64_t from = info.st_size > count ? info.st_size - count : 0;
  std::string out(static_cast<size_t>(info.st_size - from), '\0');
  const ssize_t got = pread(fd.get(), out.data(), out.size(), from);
  out.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return out;
}

bool write_control(const std::string& path, std::string_view text) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  return fd && write_all(fd.get(), text);
}

Done write_atomically(const std::string& path, std::string_view bytes, bool durable) {
  const std::string temporary = path + ".tmp";
  // Cut after the write, not before: what set_aside() holds must not be given back in between.
  const Fd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return errno_error("cannot write " + temporary, errno);
  const auto size = static_cast<off_t>(bytes.size());
  if (!write_all(fd.get(), bytes) || ftruncate(fd.get(), size) != 0) {
    const Error error = errno_error("cannot write " + temporary, errno);
    unlink(temporary.c_str());
    return error;
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return errno_error("cannot rename " + temporary + " to " + path, errno);
  }
  if (durable && fdatasync(fd.get()) != 0) return errno_error("cannot sync " + path, errno);
  return done();
}

void set_aside(const std::string& path, int64_t count) {
  const std::string temporary = path + ".tmp";
  const Fd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (fd) write_all(fd.get(), std::string(static_cast<size_t>(count), '\0'));
}

Done make_folders(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return done();
  const size_t slash = path.rfind('/');
  if (errno == ENOENT && slash != std::string::npos && slash != 0) {
    TRY(make_folders(path.substr(0, slash)));
    if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return done();
  }
  return errno_error("cannot make the folder " + path, errno);
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

FolderLock::FolderLock(const std::string& folder, int inherited)
    : fd_(open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  struct stat mine{};
  struct stat handed{};
  if (inherited >= 0 && fd_ && fstat(fd_.get(), &mine) == 0 && fstat(inherited, &handed) == 0 &&
      mine.st_dev == handed.st_dev && mine.st_ino == handed.st_ino) {
    fd_.reset(inherited);
    fcntl(inherited, F_SETFD, FD_CLOEXEC);
  }
  is_mine_ = fd_ && flock(fd_.get(), LOCK_EX | LOCK_NB) == 0;
}

std::string FolderLock::content() const {
  char buffer[256];
  const ssize_t got = fd_ ? pread(fd_.get(), buffer, sizeof buffer, 0) : -1;
  return std::string(buffer, got > 0 ? static_cast<size_t>(got) : 0);
}

bool FolderLock::write(std::string_view content) {
  CHECK(is_mine_);
  return pwrite(fd_.get(), content.data(), content.size(), 0) ==
         static_cast<ssize_t>(content.size());
}

}  // namespace keiko::process
