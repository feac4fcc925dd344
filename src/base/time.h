// Duration and Time: the brain's clock, in integer nanoseconds.
//
// A Time is a point on a clock that only goes forward: the server starts it from the wall clock (or
// from the last journaled time, if that is later) and advances it by the monotonic clock, so a step
// of the wall clock can never end a lease. Times of two machines are never compared; what crosses
// the wire is a Duration. WallTime is for people to read and decides nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace keiko {

/// A signed span of time in nanoseconds.
struct Duration {
  int64_t ns = 0;

  constexpr int64_t millis() const { return ns / 1'000'000; }
  constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }
  friend constexpr auto operator<=>(const Duration&, const Duration&) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
  friend constexpr Duration operator*(Duration a, int64_t k) { return {a.ns * k}; }
  friend constexpr Duration operator/(Duration a, int64_t k) { return {a.ns / k}; }
};

constexpr Duration nanoseconds(int64_t n) { return {n}; }
constexpr Duration microseconds(int64_t n) { return {n * 1'000}; }
constexpr Duration milliseconds(int64_t n) { return {n * 1'000'000}; }
constexpr Duration seconds(int64_t n) { return {n * 1'000'000'000}; }
constexpr Duration minutes(int64_t n) { return {n * 60'000'000'000}; }
constexpr Duration hours(int64_t n) { return {n * 3'600'000'000'000}; }

/// A point on one forward-only clock, nanoseconds since the Unix epoch as that clock believes it.
struct Time {
  int64_t ns = 0;

  friend constexpr auto operator<=>(const Time&, const Time&) = default;
  friend constexpr Time operator+(Time t, Duration d) { return {t.ns + d.ns}; }
  friend constexpr Time operator-(Time t, Duration d) { return {t.ns - d.ns}; }
  friend constexpr Duration operator-(Time a, Time b) { return {a.ns - b.ns}; }
};

/// A reading of the wall clock; a type of its own so that it cannot reach a decision.
struct WallTime {
  int64_t ns = 0;
};

/// RETURNS: a short text with two units at most: "1h 5m", "12.3s", "250ms".
std::string to_text(Duration duration);

/// RETURNS: "2026-12-02T07:06:53.120Z" (UTC, milliseconds).
std::string to_text(WallTime time);
inline std::string to_text(Time time) { return to_text(WallTime{time.ns}); }

/// Reads "90s", "1h30m", "250ms", "2d" or a bare number of seconds.
/// RETURNS: kInvalidArgument with the accepted units for anything else.
Result<Duration> parse_duration(std::string_view text);

}  // namespace keiko
