#include "base/id.h"

namespace keiko {

bool parse_digits(std::string_view text, uint64_t& number) {
  if (text.empty() || text.size() > 19) return false;
  number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return true;
}

}  // namespace keiko
