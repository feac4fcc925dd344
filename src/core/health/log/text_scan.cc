// Scanning by hand: no regular expression, so that any bytes take linear time.
#include "core/health/log/text_scan.h"

#include "base/id.h"
#include "model/pci_path.h"

namespace keiko::health {
namespace {

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_name(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_' || c == '.' || c == '@';
}

int64_t hex_value(std::string_view digits) {
  int64_t value = 0;
  for (const char c : digits) {
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    value = value * 16 + digit;
  }
  return value;
}

/// Makes "c1:00" and "0000:c1:00" into what parse_pci_address reads.
std::string whole_address(std::string_view text) {
  std::string address(text);
  size_t colons = 0;
  for (const char c : text) colons += c == ':' ? 1 : 0;
  if (colons == 1) address = "0000:" + address;
  if (text.find('.') == std::string_view::npos) address += ".0";
  return address;
}

}  // namespace

bool TextScan::take(std::string_view word) {
  if (rest_.substr(0, word.size()) != word) return false;
  rest_.remove_prefix(word.size());
  return true;
}

void TextScan::skip_blanks() {
  while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
}

bool TextScan::take_number(int64_t& number) {
  size_t used = 0;
  while (used < rest_.size() && rest_[used] >= '0' && rest_[used] <= '9') ++used;
  uint64_t value = 0;
  if (used > 18 || !parse_digits(rest_.substr(0, used), value)) return false;
  number = static_cast<int64_t>(value);
  rest_.remove_prefix(used);
  return true;
}

bool TextScan::take_code(int64_t& number) {
  if (rest_.substr(0, 2) != "0x") return take_number(number);
  size_t used = 2;
  while (used < rest_.size() && is_hex(rest_[used])) ++used;
  if (used == 2 || used > 17) return false;
  number = hex_value(rest_.substr(2, used - 2));
  rest_.remove_prefix(used);
  return true;
}

bool TextScan::take_pci(std::string& address) {
  size_t used = 0;
  while (used < rest_.size() && (is_hex(rest_[used]) || rest_[used] == ':' || rest_[used] == '.')) {
    ++used;
  }
  // A sentence may end behind it: "GPU 0000:29:00.0: GPU has fallen".
  std::string_view text = rest_.substr(0, used);
  while (!text.empty() && !is_hex(text.back())) text.remove_suffix(1);
  PciAddress parsed;
  if (text.size() > 24 || !parse_pci_address(whole_address(text), parsed)) return false;
  address = to_text(parsed);
  rest_.remove_prefix(text.size());
  return true;
}

size_t find_behind(std::string_view text, std::string_view word, size_t from) {
  const size_t at = text.find(word, from);
  return at == std::string_view::npos ? at : at + word.size();
}

bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

std::string_view last_name(std::string_view text) {
  size_t start = text.size();
  while (start > 0 && is_name(text[start - 1])) --start;
  return text.substr(start);
}

}  // namespace keiko::health
