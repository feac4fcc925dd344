#include "drivers/clock/system/system_clock.h"

#include <ctime>

#include <algorithm>

#include "base/check.h"

namespace keiko {
namespace {

int64_t read_ns(clockid_t clock) {
  timespec reading{};
  CHECK(clock_gettime(clock, &reading) == 0);
  return int64_t{reading.tv_sec} * 1'000'000'000 + reading.tv_nsec;
}

}  // namespace

SystemClockDriver::SystemClockDriver(Time floor)
    : origin_(std::max(Time{read_ns(CLOCK_REALTIME)}, floor)), boot_ns_(read_ns(CLOCK_BOOTTIME)) {}

Time SystemClockDriver::now() {
  return origin_ + nanoseconds(read_ns(CLOCK_BOOTTIME) - boot_ns_);
}

WallTime SystemClockDriver::wall() { return {read_ns(CLOCK_REALTIME)}; }

}  // namespace keiko
