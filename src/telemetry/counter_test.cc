#include "telemetry/counter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace keiko::telemetry {
namespace {

Time at(int64_t second) { return Time{} + seconds(second); }

TEST(CounterTrack, tells_a_rate_from_two_values_and_none_from_one) {
  CounterTrack track;
  EXPECT_FALSE(track.rate_per_s());
  track.put(at(0), 1000);
  EXPECT_FALSE(track.rate_per_s());
  track.put(at(4), 1100);
  EXPECT_EQ(track.rate_per_s(), 25);
  EXPECT_EQ(track.total(), 1100);
}

TEST(CounterTrack, counts_on_through_a_wrap_at_32_bits) {
  CounterTrack track(true);
  track.put(at(0), 4294967196.0);  // 100 before the end
  track.put(at(2), 50);
  EXPECT_EQ(track.rate_per_s(), 75) << "150 in 2 s";
  EXPECT_EQ(track.total(), 4294967346.0);
  EXPECT_EQ(track.wraps(), 1);
  EXPECT_EQ(track.resets(), 0);
}

TEST(CounterTrack, takes_a_fall_for_a_new_beginning_and_tells_no_rate_over_it) {
  CounterTrack track(true);
  track.put(at(0), 1'000'000);
  track.put(at(1), 300);
  EXPECT_FALSE(track.rate_per_s());
  EXPECT_EQ(track.total(), 1'000'300);
  EXPECT_EQ(track.resets(), 1);
  track.put(at(2), 310);
  EXPECT_EQ(track.rate_per_s(), 10);
}

TEST(CounterTrack, knows_that_a_counter_beyond_32_bits_does_not_wrap_there) {
  CounterTrack track(true);
  track.put(at(0), 5e9);
  track.put(at(1), 4.2e9);  // cleared, and fast since
  EXPECT_EQ(track.resets(), 1);
  track.put(at(2), 1);
  EXPECT_EQ(track.wraps(), 0);
  EXPECT_EQ(track.resets(), 2);
}

TEST(CounterTrack, passes_over_what_is_no_count) {
  CounterTrack track;
  track.put(at(0), 10);
  track.put(at(1), std::nan(""));
  track.put(at(1), -1);
  track.put(at(1), std::numeric_limits<double>::infinity());
  track.put(at(0), 999);  // time stands still
  EXPECT_FALSE(track.rate_per_s());
  track.put(at(2), 14);
  EXPECT_EQ(track.rate_per_s(), 2);
  EXPECT_EQ(track.resets(), 0);
}

TEST(FlapTrack, calls_three_falls_in_ten_minutes_flapping_and_forgets_them) {
  FlapTrack track;
  track.put(at(0), 40);  // what was before we looked says nothing
  EXPECT_FALSE(track.flapping());
  track.put(at(60), 41);
  track.put(at(120), 42);
  EXPECT_FALSE(track.flapping());
  track.put(at(300), 43);
  EXPECT_TRUE(track.flapping());
  track.put(at(659), 43);
  EXPECT_TRUE(track.flapping());
  track.put(at(660), 43);
  EXPECT_FALSE(track.flapping()) << "the first fall is ten minutes ago";
}

TEST(FlapTrack, sees_falls_that_all_came_between_two_looks) {
  FlapTrack track;
  track.put(at(0), 0);
  track.put(at(1), 3);
  EXPECT_TRUE(track.flapping());
}

TEST(FlapTrack, holds_while_it_goes_on_falling) {
  FlapTrack track;
  for (int i = 0; i < 5000; ++i) track.put(at(i), i);
  EXPECT_TRUE(track.flapping());
  track.put(at(5600), 4999);
  EXPECT_FALSE(track.flapping());
}

}  // namespace
}  // namespace keiko::telemetry
