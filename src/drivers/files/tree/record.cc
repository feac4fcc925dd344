#include "drivers/files/tree/record.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace keiko::tree {
namespace {

constexpr size_t kHeadBytes = 5;

bool read_whole(int fd, char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t got = read(fd, bytes, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

}  // namespace

Done write_record(int fd, Kind kind, std::string_view bytes) {
  CHECK(bytes.size() <= kMostRecordBytes);
  char head[kHeadBytes] = {static_cast<char>(kind)};
  for (size_t i = 1; i < kHeadBytes; ++i) {
    head[i] = static_cast<char>(bytes.size() >> (8 * (i - 1)) & 0xFF);
  }
  if (write_whole(fd, {head, kHeadBytes}) && write_whole(fd, bytes)) return done();
  return unavailable("the other side takes no more");
}

Result<Kind> read_record(int fd, std::string& bytes) {
  char head[kHeadBytes];
  if (!read_whole(fd, head, kHeadBytes)) return unavailable("the copy broke off");
  size_t size = 0;
  for (size_t i = 1; i < kHeadBytes; ++i) {
    size |= static_cast<size_t>(static_cast<unsigned char>(head[i])) << (8 * (i - 1));
  }
  if (size > kMostRecordBytes) return data_loss("what comes is no stream of files");
  bytes.resize(size);
  if (!read_whole(fd, bytes.data(), size)) return unavailable("the copy broke off");
  return static_cast<Kind>(head[0]);
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

std::string last_name(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  const std::string name = path.substr(path.rfind('/') + 1);
  return is_plain_name(name) ? name : ".";
}

}  // namespace keiko::tree
