// SHA-256 (FIPS 180-4), by which images name their parts. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace keiko::images {

class Sha256 {
 public:
  void add(std::string_view bytes);
  /// RETURNS: the digest of all that was added, 64 hexadecimal digits. The object is spent.
  std::string finish();

 private:
  void take_block(const unsigned char* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string rest_;         ///< less than a block
  uint64_t count_ = 0;       ///< bytes
};

std::string sha256_of(std::string_view bytes);

}  // namespace keiko::images
