// Prng: xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64. The same seed gives the same
// sequence on every machine; chances are ratios of integers, so no float can differ.
#pragma once

#include <array>
#include <cstdint>

namespace keiko {

class Prng {
 public:
  explicit Prng(uint64_t seed);

  uint64_t next();

  /// RETURNS: a number in [0, bound), without bias. REQUIRES: bound > 0.
  uint64_t below(uint64_t bound);

  /// RETURNS: a number in [low, high]. REQUIRES: low <= high.
  int64_t between(int64_t low, int64_t high);

  /// RETURNS: true with probability numerator/denominator.
  bool chance(uint64_t numerator, uint64_t denominator) { return below(denominator) < numerator; }

 private:
  std::array<uint64_t, 4> state_;
};

/// One step of splitmix64: a good 64-bit mix of `x`, used for seeding and hashing.
uint64_t splitmix64(uint64_t x);

}  // namespace keiko
