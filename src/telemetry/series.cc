#include "telemetry/series.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace keiko::telemetry {
namespace {

/// How an absent slot is marked inside; it never leaves.
constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();

}  // namespace

Series::Series(MetricKind kind, const SeriesShape& shape) : kind_(kind) {
  const auto make = [kind](Duration step, int64_t slots, bool keeps_most) {
    Ring ring{step, slots, -1, {}, {}, {}};
    const size_t size = static_cast<size_t>(slots);
    if (kind == MetricKind::kCounter) {
      ring.lasts.assign(size, static_cast<double>(kAbsent));
    } else {
      ring.means.assign(size, kAbsent);
      if (keeps_most) ring.mosts.assign(size, kAbsent);
    }
    return ring;
  };
  fine_ = make(shape.fine_step, shape.fine_slots, false);
  coarse_ = make(shape.coarse_step, shape.coarse_slots, true);
}

/// Makes `slot` the newest; those that were skipped are absent.
void Series::advance(Ring& ring, int64_t slot) const {
  const int64_t first = std::max(ring.newest + 1, slot - ring.slots + 1);
  for (int64_t n = first; n <= slot; ++n) {
    const size_t at = static_cast<size_t>(n % ring.slots);
    if (!ring.lasts.empty()) ring.lasts[at] = static_cast<double>(kAbsent);
    if (!ring.means.empty()) ring.means[at] = kAbsent;
    if (!ring.mosts.empty()) ring.mosts[at] = kAbsent;
  }
  ring.newest = slot;
}

void Series::store(Ring& ring, double mean, double most) const {
  const size_t at = static_cast<size_t>(ring.newest % ring.slots);
  if (!ring.lasts.empty()) ring.lasts[at] = mean;
  if (!ring.means.empty()) ring.means[at] = static_cast<float>(mean);
  if (!ring.mosts.empty()) ring.mosts[at] = static_cast<float>(most);
}

void Series::put(Time at, double value) {
  if (!std::isfinite(value) || at < Time{}) return;
  // A gauge beyond a float's range would come out as infinity.
  if (kind_ == MetricKind::kGauge && std::abs(value) > std::numeric_limits<float>::max()) return;
  const int64_t slot = at.ns / fine_.step.ns;
  if (slot < fine_.newest) return;
  if (slot > fine_.newest) advance(fine_, slot);
  store(fine_, value, value);

  const int64_t coarse_slot = at.ns / coarse_.step.ns;
  if (coarse_slot != coarse_.newest) {
    advance(coarse_, coarse_slot);
    sum_ = 0;
    count_ = 0;
    most_ = value;
  }
  sum_ += value;
  ++count_;
  most_ = std::max(most_, value);
  if (kind_ == MetricKind::kCounter) return store(coarse_, value, value);
  store(coarse_, sum_ / static_cast<double>(count_), most_);
}

std::vector<Point> Series::points(const Ring& ring, Time now) const {
  std::vector<Point> found;
  const int64_t present = now.ns / ring.step.ns;
  const int64_t oldest = std::max(present, ring.newest) - ring.slots + 1;
  for (int64_t n = std::max<int64_t>(oldest, 0); n <= std::min(present, ring.newest); ++n) {
    const size_t at = static_cast<size_t>(n % ring.slots);
    const bool counts = !ring.lasts.empty();
    const double mean = counts ? ring.lasts[at] : static_cast<double>(ring.means[at]);
    if (std::isnan(mean)) continue;
    const double most = ring.mosts.empty() ? mean : static_cast<double>(ring.mosts[at]);
    found.push_back({Time{n * ring.step.ns}, mean, most});
  }
  return found;
}

std::vector<Point> Series::fine(Time now) const { return points(fine_, now); }
std::vector<Point> Series::coarse(Time now) const { return points(coarse_, now); }

size_t Series::size_bytes() const {
  size_t size = 0;
  for (const Ring* ring : {&fine_, &coarse_}) {
    size += (ring->means.size() + ring->mosts.size()) * sizeof(float) +
            ring->lasts.size() * sizeof(double);
  }
  return size;
}

}  // namespace keiko::telemetry
