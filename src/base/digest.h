// Digest: 64 bits over a run of bytes. Equal digests stand for equal durable states in replays and
// double runs; it is no protection against somebody who wants a collision.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace keiko {

struct Digest {
  uint64_t bits = 0;
  friend constexpr auto operator<=>(const Digest&, const Digest&) = default;
};

/// RETURNS: the digest of `bytes`, continued from `seed`.
Digest digest_of(std::string_view bytes, Digest seed = {});

/// RETURNS: 16 hexadecimal digits.
std::string to_text(Digest digest);

/// CRC-32C (Castagnoli, RFC 3720 B.4) over `bytes`: guards records against torn writes. `before` is
/// the checksum of the bytes in front of them: crc32c(b, crc32c(a)) is crc32c(ab).
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

}  // namespace keiko
