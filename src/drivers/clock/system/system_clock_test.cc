#include "drivers/clock/system/system_clock.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "ports/clock_conformance.h"

namespace keiko {
namespace {

struct SystemClockHarness {
  static SystemClockDriver make(Time floor) { return SystemClockDriver(floor); }
  static void let_time_pass(SystemClockDriver& clock) {
    const Time before = clock.now();
    while (clock.now() == before) {
    }
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(System, ClockConformance, SystemClockHarness);

TEST(SystemClock, starts_at_the_wall_clock_when_the_floor_is_behind_it) {
  SystemClockDriver clock(Time{1});
  const Duration apart = clock.now() - Time{clock.wall().ns};
  EXPECT_LT(std::abs(apart.ns), seconds(5).ns);
}

TEST(SystemClock, starts_at_the_floor_when_the_wall_clock_fell_behind_it) {
  const Time floor = Time{SystemClockDriver(Time{}).wall().ns} + hours(24);
  SystemClockDriver clock(floor);
  EXPECT_GE(clock.now(), floor);
  EXPECT_LT(clock.now(), floor + minutes(5));
}

}  // namespace
}  // namespace keiko
