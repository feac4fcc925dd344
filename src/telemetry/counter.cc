#include "telemetry/counter.h"

#include <cmath>

namespace keiko::telemetry {
namespace {

constexpr double kEnd = 4294967296.0;  // of 32 bits

}  // namespace

bool CounterTrack::has_wrapped(double value) const {
  return may_wrap_ && last_ < kEnd && last_ >= kEnd * 3 / 4 && value < kEnd / 4;
}

void CounterTrack::put(Time at, double value) {
  if (!std::isfinite(value) || value < 0) return;
  if (!at_) {
    total_ = value;
  } else {
    if (at <= *at_) return;
    double increase = value - last_;
    rate_.reset();
    if (increase >= 0 || has_wrapped(value)) {
      if (increase < 0) {
        increase += kEnd;
        ++wraps_;
      }
      rate_ = increase / (at - *at_).seconds();
    } else {
      increase = value;
      ++resets_;
    }
    total_ += increase;
  }
  if (value >= kEnd) may_wrap_ = false;  // it counts further than that
  at_ = at;
  last_ = value;
}

void FlapTrack::put(Time at, double falls) {
  if (last_ && falls > *last_) {
    changes_.push_back({at, *last_});
    // A counter that races costs no memory: only the oldest falls within the time matter.
    if (changes_.size() > 64) changes_.erase(changes_.begin() + 1);
  }
  last_ = falls;
  while (!changes_.empty() && at - changes_.front().at >= kWithin) changes_.pop_front();
  flapping_ = !changes_.empty() && falls - changes_.front().falls_before >= kFalls;
}

}  // namespace keiko::telemetry
