// Validation after the table of well-formed byte sequences in RFC 3629, section 4.
#include "base/utf8.h"

#include <cstdint>

namespace keiko {
namespace {

struct Lead {
  int length;        // 0: not a first byte
  uint8_t low, high; // bounds of the second byte; exclude overlong forms, surrogates, > U+10FFFF
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

/// RETURNS: the length of the character at the front of `text`, 0 if there is no whole valid one.
size_t character_length(std::string_view text) {
  const Lead lead = lead_of(static_cast<uint8_t>(text[0]));
  const size_t length = static_cast<size_t>(lead.length);
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    const uint8_t low = i == 1 ? lead.low : 0x80;
    const uint8_t high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return 0;
  }
  return length;
}

}  // namespace

size_t valid_utf8_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = character_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::string clean_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t valid = valid_utf8_prefix(text);
    out += text.substr(0, valid);
    text.remove_prefix(valid);
    if (text.empty()) break;
    out += "\xEF\xBF\xBD";
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace keiko
