#include "ports/clock_fake.h"

#include <gtest/gtest.h>

#include "ports/clock_conformance.h"

namespace keiko {
namespace {

struct FakeClockHarness {
  static FakeClock make(Time floor) { return FakeClock(floor); }
  static void let_time_pass(FakeClock& clock) { clock.advance(nanoseconds(1)); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Fake, ClockConformance, FakeClockHarness);

TEST(FakeClock, keeps_its_time_when_somebody_sets_the_wall_clock) {
  FakeClock clock(Time{1000});
  clock.set_wall(WallTime{5});
  EXPECT_EQ(clock.now(), Time{1000});
  EXPECT_EQ(clock.wall().ns, 5);
  clock.advance(nanoseconds(10));
  EXPECT_EQ(clock.now(), Time{1010});
  EXPECT_EQ(clock.wall().ns, 15);
}

}  // namespace
}  // namespace keiko
