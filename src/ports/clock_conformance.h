// What every Clock must do. A harness has make(floor) and let_time_pass(clock). Include this from a
// test and write INSTANTIATE_TYPED_TEST_SUITE_P(Name, ClockConformance, Harness).
#pragma once

#include <gtest/gtest.h>

#include "ports/clock.h"

namespace keiko {

template <class Harness>
class ClockConformance : public testing::Test {};
TYPED_TEST_SUITE_P(ClockConformance);

TYPED_TEST_P(ClockConformance, never_runs_backwards) {
  auto clock = TypeParam::make(Time{});
  Time last = clock.now();
  for (int i = 0; i < 10'000; ++i) {
    const Time next = clock.now();
    ASSERT_GE(next, last);
    last = next;
  }
}

TYPED_TEST_P(ClockConformance, never_starts_before_its_floor) {
  const Time floor = Time{4'000'000'000'000'000'000};
  auto clock = TypeParam::make(floor);
  EXPECT_GE(clock.now(), floor);
}

TYPED_TEST_P(ClockConformance, moves_forward_as_time_passes) {
  auto clock = TypeParam::make(Time{});
  const Time before = clock.now();
  TypeParam::let_time_pass(clock);
  EXPECT_GT(clock.now(), before);
}

REGISTER_TYPED_TEST_SUITE_P(ClockConformance, never_runs_backwards, never_starts_before_its_floor,
                            moves_forward_as_time_passes);

}  // namespace keiko
