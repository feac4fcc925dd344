#include "drivers/logs/files/kept_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/digest.h"

namespace keiko::logs {
namespace {

/// How much of a log's end is checked against its marks when it is opened: more than can have been
/// on its way to the disk when a machine lost its power.
constexpr int64_t kChecked = 16 << 20;

Error write_error(int error) {
  Error out = errno_error("cannot keep workers' output", error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) out.code = Code::kResourceExhausted;
  return out;
}

Done write_at(int fd, std::string_view bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return write_error(errno);
    if (put == 0) return write_error(ENOSPC);
    bytes.remove_prefix(static_cast<size_t>(put));
    offset += put;
  }
  return done();
}

Result<std::string> read_at(int fd, int64_t offset, size_t count) {
  std::string bytes(count, '\0');
  size_t have = 0;
  while (have < count) {
    const ssize_t got = pread(fd, bytes.data() + have, count - have,
                              offset + static_cast<int64_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("cannot read workers' output", errno);
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

int64_t size_of(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_size : 0;
}

}  // namespace

Result<std::shared_ptr<KeptLog>> KeptLog::open(const std::string& path, bool create) {
  const int flags = O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0);
  const int text = ::open(path.c_str(), flags, 0644);
  if (text < 0 && errno == ENOENT && !create) return not_found("no log at " + path);
  if (text < 0) return errno_error("open " + path, errno);
  const std::string beside = path + ".marks";
  const int marks = ::open(beside.c_str(), flags | O_CREAT, 0644);
  if (marks < 0) {
    const int error = errno;
    ::close(text);
    return errno_error("open " + beside, error);
  }
  std::shared_ptr<KeptLog> log(new KeptLog(text, marks));
  log->recover();
  return log;
}

KeptLog::~KeptLog() {
  ::close(text_fd_);
  ::close(marks_fd_);
}

/// Goes back from the last mark to one whose bytes and whose predecessors' bytes are all there.
void KeptLog::recover() {
  int64_t whole = size_of(marks_fd_) / kMarkBytes;
  int64_t checked = 0;
  for (int64_t i = whole - 1; i >= 0 && checked < kChecked; --i) {
    const std::optional<MarkRecord> mark = read_mark(marks_fd_, i);
    if (!mark || !is_whole(*mark)) whole = i;
    else checked += mark->end - mark->begin;
  }
  Place place{0, whole, false};
  if (whole > 0) {
    const std::optional<MarkRecord> last = read_mark(marks_fd_, whole - 1);
    if (last) place = {last->end, whole, last->ended};
  }
  durable_ = place;
  if (place.size > 0) synced_size_ = -1;
  // What cannot be cut off is written over.
  (void)cut_to(place);
}

bool KeptLog::is_whole(const MarkRecord& mark) const {
  const auto count = static_cast<size_t>(mark.end - mark.begin);
  const Result<std::string> bytes = read_at(text_fd_, mark.begin, count);
  return bytes.ok() && bytes->size() == count && crc32c(*bytes) == mark.crc;
}

Done KeptLog::cut_to(const Place& place) {
  size_ = place.size;
  marks_ = place.marks;
  ended_ = place.ended;
  const int64_t marks_size = marks_ * kMarkBytes;
  if (size_of(text_fd_) != size_ && ftruncate(text_fd_, size_) != 0) return write_error(errno);
  if (size_of(marks_fd_) != marks_size && ftruncate(marks_fd_, marks_size) != 0) {
    return write_error(errno);
  }
  return done();
}

Done KeptLog::append(std::string_view data, bool ended, WallTime at) {
  const Place before = place();
  MarkRecord mark{size_, size_ + static_cast<int64_t>(data.size()), at, crc32c(data), ended};
  Done written = write_at(text_fd_, data, size_);
  if (written.ok()) written = write_at(marks_fd_, encode_mark(mark), marks_ * kMarkBytes);
  if (!written.ok()) {
    (void)cut_to(before);
    return written;
  }
  size_ = mark.end;
  ++marks_;
  ended_ = ended;
  return done();
}

Done KeptLog::sync_files(const Place& place) const {
  const bool has_text = place.size != synced_size_;
  if (has_text && fdatasync(text_fd_) != 0) return write_error(errno);
  if (fdatasync(marks_fd_) != 0) return write_error(errno);
  return done();
}

Done KeptLog::give_up_loose() { return cut_to(durable_); }

Result<LogText> KeptLog::read(const LogQuery& query, const LogExtent& extent,
                              int64_t marks) const {
  LogText text;
  const int64_t begin = std::max<int64_t>(query.offset, 0);
  const int64_t left = std::max<int64_t>(extent.size - begin, 0);
  const auto count = static_cast<size_t>(std::min<int64_t>(left, static_cast<int64_t>(query.most)));
  if (count > 0) text.data = TRY(read_at(text_fd_, begin, count));
  if (query.times && !text.data.empty()) add_marks(text, begin, marks);
  return text;
}

void KeptLog::add_marks(LogText& text, int64_t begin, int64_t count) const {
  const int64_t end = begin + static_cast<int64_t>(text.data.size());
  int64_t i = find_mark(marks_fd_, count, [&](const MarkRecord& m) { return m.end > begin; });
  for (; i < count; ++i) {
    const std::optional<MarkRecord> mark = read_mark(marks_fd_, i);
    if (!mark || mark->begin >= end) return;
    if (mark->end > mark->begin) text.marks.push_back({mark->begin, mark->at});
  }
}

int64_t KeptLog::offset_since(WallTime since) const {
  const int64_t i = find_mark(marks_fd_, marks_,
                              [&](const MarkRecord& m) { return m.at.ns >= since.ns; });
  const std::optional<MarkRecord> mark = i < marks_ ? read_mark(marks_fd_, i) : std::nullopt;
  return mark ? mark->begin : size_;
}

}  // namespace keiko::logs
