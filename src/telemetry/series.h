// Series: the past of one metric in fixed memory: every second for ten minutes, every ten seconds
// for six hours.
//
//   put ──► fine ring, a slot a second ──► coarse ring, a slot per ten seconds:
//                                          gauge: mean and maximum; counter: the last value
//
// A slot in which nothing was read is absent and stays so: no value is carried over or made up. A
// counter is put in as its CounterTrack::total, so that restarts between two slots are not lost.
// Pure; for one thread.
#pragma once

#include <optional>
#include <vector>

#include "base/time.h"
#include "telemetry/catalogue.h"

namespace keiko::telemetry {

struct SeriesShape {
  Duration fine_step = seconds(1);
  int64_t fine_slots = 600;
  Duration coarse_step = seconds(10);
  int64_t coarse_slots = 2160;
};

/// One slot that has something.
struct Point {
  Time at;          ///< where its slot begins
  double mean = 0;  ///< of a counter: its last value
  double most = 0;

  friend bool operator==(const Point&, const Point&) = default;
};

class Series {
 public:
  /// Takes all of its memory at once.
  explicit Series(MetricKind kind, const SeriesShape& shape = {});

  /// What is not finite, or older than the newest slot, is passed over; of two values in one fine
  /// slot the later one stays.
  void put(Time at, double value);

  /// RETURNS: the slots of the last `shape.fine_step * fine_slots` before `now`, oldest first,
  /// without the absent ones.
  std::vector<Point> fine(Time now) const;
  std::vector<Point> coarse(Time now) const;

  /// RETURNS: the size of its rings.
  size_t size_bytes() const;

 private:
  /// Slot `n` of the endless row of slots lies at n modulo the ring's size.
  struct Ring {
    Duration step;
    int64_t slots = 0;
    int64_t newest = -1;
    // Gauges have 24 bits of precision in the past, which halves the memory; counters must not.
    std::vector<float> means, mosts;
    std::vector<double> lasts;
  };

  void advance(Ring& ring, int64_t slot) const;
  void store(Ring& ring, double mean, double most) const;
  std::vector<Point> points(const Ring& ring, Time now) const;

  MetricKind kind_;
  Ring fine_;
  Ring coarse_;
  double sum_ = 0;    ///< of the newest coarse slot, as the next two
  double most_ = 0;
  int64_t count_ = 0;
};

}  // namespace keiko::telemetry
