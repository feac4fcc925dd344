#include "drivers/journal/sqlite/batch.h"

#include <tuple>

#include <gtest/gtest.h>

#include "base/digest.h"
#include "base/prng.h"

namespace keiko::sqlite {
namespace {

const std::vector<std::string> kRecords = {"first", "", std::string(300, 'x')};

TEST(JournalBatch, checksums_are_castagnoli_s_whole_or_in_parts) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720 B.4
  std::string bytes;
  Prng prng(3);
  for (int i = 0; i < 100; ++i) bytes += static_cast<char>(prng.below(256));
  uint32_t slow = 0;
  for (const char& byte : bytes) slow = crc32c({&byte, 1}, slow);
  EXPECT_EQ(crc32c(bytes), slow);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const std::string_view all = bytes;
    EXPECT_EQ(crc32c(all.substr(cut), crc32c(all.substr(0, cut))), slow);
  }
}

TEST(JournalBatch, decodes_what_was_encoded) {
  const auto records = MUST(decode_batch(7, 3, Term{2}, encode_batch(7, Term{2}, kRecords)));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[2], (JournalRecord{9, Term{2}, kRecords[2]}));
}

TEST(JournalBatch, notices_every_single_bit_and_every_cut) {
  const std::string sound = encode_batch(7, Term{2}, kRecords);
  for (size_t bit = 0; bit < sound.size() * 8; ++bit) {
    std::string body = sound;
    body[bit / 8] = static_cast<char>(body[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(decode_batch(7, 3, Term{2}, body).ok(), false) << "bit " << bit;
  }
  for (size_t size = 0; size < sound.size(); ++size) {
    EXPECT_FALSE(decode_batch(7, 3, Term{2}, sound.substr(0, size)).ok()) << "cut to " << size;
  }
  EXPECT_FALSE(decode_batch(7, 3, Term{2}, sound + "x").ok());
}

TEST(JournalBatch, notices_a_body_under_another_row) {
  const std::string body = encode_batch(7, Term{2}, kRecords);
  for (const auto& [first, count, term] : {std::tuple{8, 3, 2}, {7, 2, 2}, {7, 4, 2}, {7, 3, 3}}) {
    const auto records = decode_batch(static_cast<uint64_t>(first), static_cast<uint64_t>(count),
                                      Term{static_cast<uint64_t>(term)}, body);
    ASSERT_FALSE(records.ok());
    EXPECT_EQ(records.error().code, Code::kDataLoss);
    EXPECT_NE(records.error().message.find("record "), std::string::npos);
  }
}

}  // namespace
}  // namespace keiko::sqlite
