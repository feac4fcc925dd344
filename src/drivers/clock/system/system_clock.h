// The clock of this machine. Time starts at the wall clock, or at a floor if the wall clock is
// behind it, and from there follows CLOCK_BOOTTIME: steps of the wall clock do not reach it, and a
// suspended machine finds on waking that its leases have run out, as the others saw it.
// Thread-safe.
#pragma once

#include "ports/clock.h"

namespace keiko {

class SystemClockDriver : public Clock {
 public:
  /// `floor`: the last time known from an earlier run (the journal's), or Time{} if there is none.
  explicit SystemClockDriver(Time floor);

  Time now() override;
  WallTime wall() override;

 private:
  Time origin_;           // what now() showed at construction
  int64_t boot_ns_ = 0;   // what CLOCK_BOOTTIME showed then
};

}  // namespace keiko
