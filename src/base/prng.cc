#include "base/prng.h"

#include "base/check.h"

namespace keiko {

uint64_t splitmix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

namespace {
uint64_t rotate_left(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
}  // namespace

Prng::Prng(uint64_t seed) : state_{} {
  for (uint64_t& word : state_) {
    word = splitmix64(seed);
    seed += 0x9e3779b97f4a7c15ULL;
  }
}

uint64_t Prng::next() {
  const uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

uint64_t Prng::below(uint64_t bound) {
  CHECK(bound > 0);
  const uint64_t limit = bound * (UINT64_MAX / bound);
  while (true) {
    const uint64_t x = next();
    if (x < limit || limit == 0) return x % bound;
  }
}

int64_t Prng::between(int64_t low, int64_t high) {
  CHECK(low <= high);
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (span == UINT64_MAX) return static_cast<int64_t>(next());
  return static_cast<int64_t>(static_cast<uint64_t>(low) + below(span + 1));
}

}  // namespace keiko
