// FakeClock: a clock that moves only when it is told to. Its two hands are apart, so that a test
// can let the wall clock jump while time goes on. For one thread; deterministic.
#pragma once

#include "base/check.h"
#include "ports/clock.h"

namespace keiko {

class FakeClock : public Clock {
 public:
  /// Both hands start at `start`.
  explicit FakeClock(Time start) : now_(start), wall_{start.ns} {}

  Time now() override { return now_; }
  WallTime wall() override { return wall_; }

  /// Moves both hands. REQUIRES: step.ns >= 0.
  void advance(Duration step) {
    CHECK(step.ns >= 0);
    now_ = now_ + step;
    wall_.ns += step.ns;
  }

  /// Moves the forward-only hand to `time`. REQUIRES: it does not move back.
  void set_now(Time time) {
    CHECK(time >= now_);
    now_ = time;
  }

  /// Somebody sets the machine's clock, in either direction; now() does not feel it.
  void set_wall(WallTime time) { wall_ = time; }

 private:
  Time now_;
  WallTime wall_;
};

}  // namespace keiko
