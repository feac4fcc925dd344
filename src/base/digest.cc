#include "base/digest.h"

#include <array>
#include <cstdio>
#include <cstring>

#include "base/prng.h"

namespace keiko {

Digest digest_of(std::string_view bytes, Digest seed) {
  uint64_t hash = seed.bits ^ (bytes.size() * 0x9ddfea08eb382d69ULL);
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    hash = splitmix64(hash ^ word);
  }
  uint64_t tail = 0;
  if (at < bytes.size()) std::memcpy(&tail, bytes.data() + at, bytes.size() - at);
  return {splitmix64(hash ^ tail)};
}

std::string to_text(Digest digest) {
  char buffer[20];
  std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(digest.bits));
  return buffer;
}

namespace {

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = make_crc_table();

uint32_t crc_by_table(std::string_view bytes, uint32_t crc) {
  for (const char c : bytes) crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return crc;
}

#ifdef __x86_64__
/// Eight bytes an instruction where the processor has SSE 4.2, about ten times the table's pace.
__attribute__((target("sse4.2"))) uint32_t crc_by_processor(std::string_view bytes, uint32_t crc) {
  uint64_t wide = crc;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  return crc_by_table(bytes, static_cast<uint32_t>(wide));
}
#endif

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t before) {
#ifdef __x86_64__
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~crc_by_processor(bytes, ~before);
#endif
  return ~crc_by_table(bytes, ~before);
}

}  // namespace keiko
