// The marks beside a log: one record of fixed size for each append, so that a time or a place is
// found by halving, and so that a start after a crash can tell bytes that were written whole from
// what a torn write left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace keiko::logs {

struct MarkRecord {
  int64_t begin = 0;    ///< of the appended bytes in the log
  int64_t end = 0;
  WallTime at;
  uint32_t crc = 0;     ///< CRC-32C of the appended bytes
  bool ended = false;   ///< the log ends with them
};

inline constexpr int64_t kMarkBytes = 36;

/// RETURNS: kMarkBytes bytes, the last four of them a checksum of the others.
std::string encode_mark(const MarkRecord& mark);
/// RETURNS: nothing for what encode_mark never made.
std::optional<MarkRecord> decode_mark(std::string_view bytes);

/// Reads record `index` of the file. RETURNS: nothing if it is not there whole or damaged.
std::optional<MarkRecord> read_mark(int fd, int64_t index);

/// The first of `count` records for which `is_at_or_after` holds; `count` if there is none.
/// REQUIRES: it holds for all records after the first for which it does.
template <class Test>
int64_t find_mark(int fd, int64_t count, Test is_at_or_after) {
  int64_t low = 0;
  int64_t high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const std::optional<MarkRecord> mark = read_mark(fd, middle);
    if (mark && !is_at_or_after(*mark)) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace keiko::logs
