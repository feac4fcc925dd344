#include "base/time.h"

#include <gtest/gtest.h>

namespace keiko {
namespace {

TEST(Duration, is_told_in_the_unit_that_a_person_would_choose) {
  EXPECT_EQ(to_text(microseconds(5)), "5us");
  EXPECT_EQ(to_text(milliseconds(250)), "250ms");
  EXPECT_EQ(to_text(nanoseconds(999'900'000)), "1s");
  EXPECT_EQ(to_text(milliseconds(12'340)), "12.3s");
  EXPECT_EQ(to_text(seconds(3'900)), "1h 5m");
  EXPECT_EQ(to_text(seconds(-90)), "-1m 30s");
}

TEST(Duration, is_read_with_units_and_in_sums) {
  EXPECT_EQ(MUST(parse_duration("90s")), seconds(90));
  EXPECT_EQ(MUST(parse_duration("1h30m")), minutes(90));
  EXPECT_EQ(MUST(parse_duration("1.5h")), minutes(90));
  EXPECT_EQ(MUST(parse_duration("45")), seconds(45));
  for (const char* bad : {"", "s", "5 s", "5x", "-3s", "1h-"}) {
    const auto read = parse_duration(bad);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_NE(read.error().message.find("90s or 1h30m"), std::string::npos);
  }
  const auto long_one = parse_duration("999999999999d");
  ASSERT_FALSE(long_one.ok());
  EXPECT_NE(long_one.error().message.find("longer than 292 years"), std::string::npos);
}

TEST(WallTime, is_told_in_utc_with_milliseconds) {
  EXPECT_EQ(to_text(WallTime{1'700'000'000'123'000'000}), "2023-11-14T22:13:20.123Z");
}

}  // namespace
}  // namespace keiko
