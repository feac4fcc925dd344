#include "drivers/substrate/process/log_pump.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace keiko::process {
namespace {

constexpr int kPipeBytes = 1 << 20;     // the most an unprivileged process may ask for
constexpr size_t kPieceBytes = 1 << 18;

std::vector<char>& piece() {
  static std::vector<char> buffer(kPieceBytes);
  return buffer;
}

}  // namespace

LogPump::LogPump(const std::string& path, Bytes limit) : path_(path), limit_(limit) {}

Result<Fd> LogPump::open() {
  file_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file_) return errno_error("cannot open the log " + path_, errno);
  struct stat info{};
  if (fstat(file_.get(), &info) == 0) written_ = info.st_size;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno_error("cannot make a pipe for " + path_, errno);
  pipe_ = Fd(ends[0]);
  Fd program_end(ends[1]);
  // Only our end is non-blocking: the program must find an ordinary pipe.
  fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
  fcntl(pipe_.get(), F_SETPIPE_SZ, kPipeBytes);  // best effort; 64 KiB otherwise
  return program_end;
}

bool LogPump::pump() {
  int64_t moved = 0;
  while (pipe_ && moved < kTurnBytes) {
    const ssize_t got = read(pipe_.get(), piece().data(), piece().size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      pipe_.reset();
      return false;
    }
    take({piece().data(), static_cast<size_t>(got)});
    moved += got;
  }
  return static_cast<bool>(pipe_);
}

void LogPump::drain() {
  // Everything that could still write is dead, so what is in the pipe bounds this.
  while (pump()) {
  }
}

std::string LogPump::lost() const {
  if (!dropping_) return {};
  return "[keiko: output was dropped: " + why_ + "; it was for " + path_ + "]";
}

void LogPump::take(std::string_view bytes) {
  if (capped_) return;
  const int64_t room = limit_.count - written_;
  if (limit_.count <= 0 || static_cast<int64_t>(bytes.size()) <= room) return put(bytes);
  put(bytes.substr(0, room > 0 ? static_cast<size_t>(room) : 0));
  put(std::string(at_line_start_ ? "" : "\n") + "[keiko: output over " + to_text(limit_) +
      " was dropped here; raise log_limit]\n");
  capped_ = true;
}

void LogPump::put(std::string_view bytes) {
  if (bytes.empty()) return;
  if (dropping_) {
    const std::string mark = "\n[keiko: output was dropped here: " + why_ + "]\n";
    if (!write_all(file_.get(), mark)) return;
    dropping_ = false;
  }
  if (!write_all(file_.get(), bytes)) {
    dropping_ = true;
    why_ = std::strerror(errno);
    return;
  }
  written_ += static_cast<int64_t>(bytes.size());
  at_line_start_ = bytes.back() == '\n';
}

}  // namespace keiko::process
