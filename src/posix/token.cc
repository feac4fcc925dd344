#include "posix/token.h"

#include <sys/random.h>

#include "base/check.h"

namespace keiko {

std::string random_token() {
  constexpr const char* kHex = "0123456789abcdef";
  unsigned char bytes[16];
  // So few bytes come whole, once the machine has booted.
  CHECK(getrandom(bytes, sizeof bytes, 0) == static_cast<ssize_t>(sizeof bytes));
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kHex[byte / 16];
    token += kHex[byte % 16];
  }
  return token;
}

}  // namespace keiko
