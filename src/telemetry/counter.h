// CounterTrack: one counter of the world as it really went on, through wraps and restarts.
//
// A counter that is lower than before has wrapped at 32 bits, if its hardware may and it was near
// that end and is near the start; else what it counts began again (driver loaded, link reset,
// counters cleared), and its new value is what was counted since. FlapTrack tells from a counter of
// falls whether something flaps. Pure; for one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"

namespace keiko::telemetry {

class CounterTrack {
 public:
  explicit CounterTrack(bool wraps_at_32_bits = false) : may_wrap_(wraps_at_32_bits) {}

  /// The counter shows `value`. What is not finite, negative, or not after the last is passed over.
  void put(Time at, double value);

  /// RETURNS: the first value and all increases since; never falls.
  double total() const { return total_; }

  /// RETURNS: the increase per second between the last two values; nothing if there are no two, or
  /// if it began again between them.
  std::optional<double> rate_per_s() const { return rate_; }

  int64_t wraps() const { return wraps_; }
  int64_t resets() const { return resets_; }

 private:
  bool has_wrapped(double value) const;

  bool may_wrap_;
  std::optional<Time> at_;
  double last_ = 0;
  double total_ = 0;
  std::optional<double> rate_;
  int64_t wraps_ = 0;
  int64_t resets_ = 0;
};

class FlapTrack {
 public:
  static constexpr double kFalls = 3;
  static constexpr Duration kWithin = minutes(10);

  /// `falls` is how often it has fallen in all, never less than before.
  void put(Time at, double falls);

  /// RETURNS: whether it fell kFalls times within kWithin before the last put().
  bool flapping() const { return flapping_; }

 private:
  struct Change { Time at; double falls_before = 0; };
  std::deque<Change> changes_;  ///< within kWithin; few, as each is a fall
  std::optional<double> last_;
  bool flapping_ = false;
};

}  // namespace keiko::telemetry
