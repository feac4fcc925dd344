// Bytes: a size in bytes, with the binary units people write.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace keiko {

/// A number of bytes.
struct Bytes {
  int64_t count = 0;

  friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, int64_t k) { return {a.count * k}; }
};

constexpr Bytes kibibytes(int64_t n) { return {n << 10}; }
constexpr Bytes mebibytes(int64_t n) { return {n << 20}; }
constexpr Bytes gibibytes(int64_t n) { return {n << 30}; }

/// RETURNS: "16GiB", "1.5MiB", "512B".
std::string to_text(Bytes bytes);

/// Reads "16GiB", "16Gi", "16G" (binary), "16GB" (decimal), "512" (bytes).
/// RETURNS: kInvalidArgument with the accepted units for anything else.
Result<Bytes> parse_bytes(std::string_view text);

}  // namespace keiko
