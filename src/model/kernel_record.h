// A record of the kernel's log as /dev/kmsg gives it: "prio,seq,usec,flags;text", then lines that
// begin with a space and say KEY=value. Pure text work; the kernel's printk documentation
// (Documentation/ABI/testing/dev-kmsg) is the format's source.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace keiko {

struct KernelRecord {
  uint64_t sequence = 0;  ///< grows by one per record; a hole is a record that nobody saw
  int64_t boot_us = 0;    ///< microseconds since boot
  int32_t level = 6;      ///< 0 emergency ... 7 debug
  int32_t facility = 0;   ///< 0 the kernel itself; anything else was written by a program
  bool fragment = false;  ///< a piece of a line that goes on in the next record
  std::string text;       ///< without escapes; may hold line ends
  std::map<std::string, std::string> properties;  ///< "DEVICE" → "+pci:0000:c1:00.0"

  friend bool operator==(const KernelRecord&, const KernelRecord&) = default;
};

/// The longest record that is read; the kernel's own limit is 8 KiB.
inline constexpr size_t kMaxKernelRecordBytes = 16 * 1024;

/// Reads one record. RETURNS: kInvalidArgument for what is no record or too long; a record that was
/// cut off within its text is one.
Result<KernelRecord> parse_kernel_record(std::string_view bytes);

/// RETURNS: `text` with "\x41" and its like turned into the bytes that they stand for; a backslash
/// that begins no such escape stays.
std::string unescape_kernel_text(std::string_view text);

}  // namespace keiko
