#include "drivers/logs/files/log_marks.h"

#include <unistd.h>

#include <cstring>

#include "base/digest.h"

namespace keiko::logs {
namespace {

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

uint64_t take(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

}  // namespace

std::string encode_mark(const MarkRecord& mark) {
  std::string out;
  put(out, static_cast<uint64_t>(mark.begin), 8);
  put(out, static_cast<uint64_t>(mark.end - mark.begin), 4);
  put(out, static_cast<uint64_t>(mark.at.ns), 8);
  put(out, mark.crc, 4);
  put(out, mark.ended ? 1 : 0, 8);
  put(out, crc32c(out), 4);
  return out;
}

std::optional<MarkRecord> decode_mark(std::string_view bytes) {
  if (bytes.size() != static_cast<size_t>(kMarkBytes)) return std::nullopt;
  if (crc32c(bytes.substr(0, 32)) != take(bytes, 32, 4)) return std::nullopt;
  MarkRecord mark;
  mark.begin = static_cast<int64_t>(take(bytes, 0, 8));
  mark.end = mark.begin + static_cast<int64_t>(take(bytes, 8, 4));
  mark.at.ns = static_cast<int64_t>(take(bytes, 12, 8));
  mark.crc = static_cast<uint32_t>(take(bytes, 20, 4));
  mark.ended = take(bytes, 24, 8) != 0;
  return mark;
}

std::optional<MarkRecord> read_mark(int fd, int64_t index) {
  char bytes[kMarkBytes];
  const ssize_t got = pread(fd, bytes, sizeof(bytes), index * kMarkBytes);
  if (got != kMarkBytes) return std::nullopt;
  return decode_mark({bytes, sizeof(bytes)});
}

}  // namespace keiko::logs
