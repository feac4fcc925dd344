#include "model/kernel_record.h"

#include "base/id.h"

namespace keiko {
namespace {

constexpr size_t kMaxProperties = 16;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Takes what stands before the first `stop` from the front of `text`, and the stop with it.
/// RETURNS: false, and nothing is taken, if there is none.
bool take_until(std::string_view& text, char stop, std::string_view& taken) {
  const size_t end = text.find(stop);
  if (end == std::string_view::npos) return false;
  taken = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}

/// RETURNS: false if `text` is no number that fits an int64_t.
bool read_number(std::string_view text, uint64_t& number) {
  return parse_digits(text, number) && number <= static_cast<uint64_t>(INT64_MAX);
}

Error no_record(std::string_view bytes) {
  return invalid_argument("'" + std::string(bytes.substr(0, 60)) +
                          "' is no record of the kernel's log; one begins with "
                          "\"priority,sequence,microseconds,flags;\"");
}

bool read_head(std::string_view head, KernelRecord& record) {
  std::string_view part;
  uint64_t number = 0;
  if (!take_until(head, ',', part) || !read_number(part, number) || number > 0xffff) return false;
  record.level = static_cast<int32_t>(number & 7);
  record.facility = static_cast<int32_t>(number >> 3);
  if (!take_until(head, ',', part) || !read_number(part, record.sequence)) return false;
  if (!take_until(head, ',', part) || !read_number(part, number)) return false;
  record.boot_us = static_cast<int64_t>(number);
  // Newer kernels add fields behind the flags: "c,caller=T1234".
  const std::string_view flags = head.substr(0, head.find(','));
  if (flags != "-" && flags != "c" && flags != "+") return false;
  record.fragment = flags != "-";
  return true;
}

void read_properties(std::string_view lines, KernelRecord& record) {
  while (!lines.empty() && record.properties.size() < kMaxProperties) {
    std::string_view line;
    if (!take_until(lines, '\n', line)) {
      line = lines;
      lines = {};
    }
    std::string_view key;
    if (line.empty() || line[0] != ' ' || !take_until(line, '=', key)) continue;
    record.properties[unescape_kernel_text(key.substr(1))] = unescape_kernel_text(line);
  }
}

}  // namespace

std::string unescape_kernel_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x' &&
                        hex_digit(text[i + 2]) >= 0 && hex_digit(text[i + 3]) >= 0;
    if (!escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3]));
    i += 3;
  }
  return out;
}

Result<KernelRecord> parse_kernel_record(std::string_view bytes) {
  if (bytes.size() > kMaxKernelRecordBytes) {
    return invalid_argument("a record of the kernel's log of " + std::to_string(bytes.size()) +
                            " bytes; the kernel writes none so long");
  }
  const std::string_view whole = bytes;
  KernelRecord record;
  std::string_view head;
  if (!take_until(bytes, ';', head) || !read_head(head, record)) return no_record(whole);
  std::string_view text;
  if (!take_until(bytes, '\n', text)) {
    text = bytes;
    bytes = {};
  }
  record.text = unescape_kernel_text(text);
  read_properties(bytes, record);
  return record;
}

}  // namespace keiko
