#include "core/logship/stream_limit.h"

#include <gtest/gtest.h>

namespace keiko::logship {
namespace {

const std::string kMark = "[keiko: output over 10B was dropped here: the server keeps no more of "
                          "one stream (--log-stream)]\n";

TEST(StreamLimit, leaves_what_fits_alone) {
  EXPECT_EQ(cut_at_limit(0, "0123456789", Bytes{10}), std::nullopt);
  EXPECT_EQ(cut_at_limit(9, "x", Bytes{10}), std::nullopt);
  EXPECT_EQ(cut_at_limit(int64_t{1} << 50, "x", Bytes{}), std::nullopt) << "0 is no limit";
}

TEST(StreamLimit, cuts_at_the_byte_and_says_so_on_a_line_of_its_own) {
  EXPECT_EQ(cut_at_limit(0, "0123456789x", Bytes{10}), "0123456789\n" + kMark);
  EXPECT_EQ(cut_at_limit(0, "012345678\nx", Bytes{10}), "012345678\n" + kMark);
  EXPECT_EQ(cut_at_limit(8, "abc", Bytes{10}), "ab\n" + kMark);
  EXPECT_EQ(cut_at_limit(10, "a", Bytes{10}), "\n" + kMark);
}

TEST(StreamLimit, of_a_log_that_is_longer_already_takes_nothing_more) {
  EXPECT_EQ(cut_at_limit(500, "abc", Bytes{10}), "\n" + kMark);
}

}  // namespace
}  // namespace keiko::logship
