#include "drivers/kmsg/kmsg_log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace keiko {
namespace {

/// Device files and sockets of messages keep records apart; files, fifos and streams do not.
bool gives_records(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return false;
  if (S_ISCHR(status.st_mode)) return true;
  int type = 0;
  socklen_t size = sizeof type;
  const bool socket = getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
  return socket && (type == SOCK_SEQPACKET || type == SOCK_DGRAM);
}

Error open_error(const std::string& path, int error) {
  Error why = errno_error("open " + path, error);
  why.code = error == ENOENT ? Code::kNotFound : Code::kPermissionDenied;
  why.message += "; the kernel's log is read by root or with CAP_SYSLOG, without it XIDs come from "
                 "the vendor's library alone";
  return why;
}

/// RETURNS: the length of the first whole record in `bytes`, its last line end included; 0 if its
/// end is not there yet. At the end of a stream a record is whole when its line is.
size_t record_length(std::string_view bytes, bool at_end) {
  size_t line_end = bytes.find('\n');
  while (line_end != std::string_view::npos) {
    const size_t next = line_end + 1;
    if (next == bytes.size()) return at_end ? next : 0;
    if (bytes[next] != ' ') return next;
    line_end = bytes.find('\n', next);
  }
  return 0;
}

}  // namespace

KmsgLog::KmsgLog(std::string path, ReadCall read_call)
    : path_(std::move(path)), read_call_(std::move(read_call)) {
  if (!read_call_) read_call_ = ::read;
}

KmsgLog::KmsgLog(int descriptor, ReadCall read_call)
    : KmsgLog(std::string(), std::move(read_call)) {
  CHECK(descriptor >= 0);
  CHECK(fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0);
  descriptor_ = descriptor;
  by_record_ = gives_records(descriptor);
}

KmsgLog::~KmsgLog() { close_log(); }

void KmsgLog::close_log() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  pending_.clear();
}

Done KmsgLog::open_log() {
  if (descriptor_ >= 0) return done();
  if (path_.empty()) return unavailable("the kernel's log was closed by its other end");
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor_ < 0) return open_error(path_, errno);
  by_record_ = gives_records(descriptor_);
  return done();
}

Result<KernelLogBatch> KmsgLog::read(size_t most) {
  CHECK(most > 0);
  TRY(open_log());
  KernelLogBatch batch;
  take_stream(most, batch);
  // Nonsense counts as well, so that a call ends however much of it there is.
  while (batch.records.size() + batch.unreadable < most) {
    const Step step = TRY(read_once(batch));
    take_stream(most, batch);
    if (step == Step::kNothingNow) return batch;
  }
  batch.more = true;
  return batch;
}

Result<KmsgLog::Step> KmsgLog::read_once(KernelLogBatch& batch) {
  std::array<char, kMaxKernelRecordBytes> buffer;
  const ssize_t size = read_call_(descriptor_, buffer.data(), buffer.size());
  if (size < 0) return failed_read(errno, batch);
  stream_at_end_ = size == 0;
  if (size == 0) return Step::kNothingNow;
  const std::string_view bytes(buffer.data(), static_cast<size_t>(size));
  if (by_record_) take_record(bytes, batch);
  else pending_ += bytes;
  return Step::kGoOn;
}

Result<KmsgLog::Step> KmsgLog::failed_read(int error, KernelLogBatch& batch) {
  switch (error) {
    case EAGAIN:
      stream_at_end_ = true;
      return Step::kNothingNow;
    case EINTR:
    // Overwritten: the kernel has moved on to its oldest record, whose number tells how many.
    case EPIPE: return Step::kGoOn;
    // The record is longer than any that the kernel writes. It stays where it is, so we move on.
    case EINVAL:
      ++batch.unreadable;
      if (lseek(descriptor_, 0, SEEK_END) >= 0) return Step::kGoOn;
      break;
    default: break;
  }
  close_log();
  Error why = errno_error("read " + (path_.empty() ? "the kernel's log" : path_), error);
  why.code = Code::kUnavailable;
  return why;
}

void KmsgLog::take_stream(size_t most, KernelLogBatch& batch) {
  size_t taken = 0;
  while (batch.records.size() + batch.unreadable < most) {
    const std::string_view rest = std::string_view(pending_).substr(taken);
    const size_t length = record_length(rest, stream_at_end_);
    if (length == 0) break;
    take_record(rest.substr(0, length), batch);
    taken += length;
  }
  pending_.erase(0, taken);
  const bool whole = record_length(pending_, stream_at_end_) != 0;
  if (whole || pending_.size() <= kMaxPendingBytes) return;
  pending_.clear();
  ++batch.unreadable;
}

void KmsgLog::take_record(std::string_view bytes, KernelLogBatch& batch) {
  // Properties whose record was taken already, since a stream paused between the two.
  if (bytes.substr(0, 1) == " ") return;
  Result<KernelRecord> record = parse_kernel_record(bytes);
  if (!record.ok()) {
    ++batch.unreadable;
    // It had a number, too: what is unreadable is not lost as well.
    if (next_sequence_ != 0) ++next_sequence_;
    return;
  }
  // A lower number than expected is another log's: after a reboot, or a file that was replaced.
  const bool hole = next_sequence_ != 0 && record->sequence > next_sequence_;
  if (hole) batch.lost += record->sequence - next_sequence_;
  next_sequence_ = record->sequence + 1;
  batch.records.push_back(*std::move(record));
}

}  // namespace keiko
