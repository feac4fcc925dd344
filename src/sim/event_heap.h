// The virtual clock: events in order of time, ties in order of insertion, so that the same program
// runs the same way every time.
#pragma once

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace keiko::sim {

class EventHeap {
 public:
  Time now() const { return now_; }
  bool empty() const { return heap_.empty(); }
  uint64_t events_run() const { return events_run_; }

  /// Runs `action` at `at`, or now if that is past.
  void at(Time at, std::function<void()> action) {
    heap_.push({std::max(at, now_), next_index_++, std::move(action)});
  }
  void after(Duration delay, std::function<void()> action) { at(now_ + delay, std::move(action)); }

  /// Runs every event up to `until`, then sets the clock there.
  void run_until(Time until) {
    while (!heap_.empty() && heap_.top().at <= until) {
      Entry entry = std::move(const_cast<Entry&>(heap_.top()));
      heap_.pop();
      now_ = entry.at;
      ++events_run_;
      entry.action();
    }
    now_ = std::max(now_, until);
  }

 private:
  struct Entry {
    Time at;
    uint64_t index;
    std::function<void()> action;
    friend bool operator<(const Entry& a, const Entry& b) {  // std's heap keeps the greatest on top
      return a.at != b.at ? a.at > b.at : a.index > b.index;
    }
  };
  std::priority_queue<Entry> heap_;
  Time now_{seconds(1'000'000'000).ns};
  uint64_t next_index_ = 0;
  uint64_t events_run_ = 0;
};

/// One machine's clock: goes forward at its own rate.
class DriftClock {
 public:
  DriftClock() = default;
  DriftClock(Time local, Time virtual_now, int64_t drift_ppm)
      : local_(local), virtual_(virtual_now), drift_ppm_(drift_ppm) {}

  Time local(Time virtual_now) const {
    const int64_t elapsed = (virtual_now - virtual_).ns;
    return {local_.ns + elapsed + elapsed / 1'000'000 * drift_ppm_};
  }
  /// RETURNS: the first virtual time at which the clock shows `local` or later.
  Time virtual_at(Time local) const {
    const int64_t wanted = (local - local_).ns;
    return {virtual_.ns + wanted - wanted / (1'000'000 + drift_ppm_) * drift_ppm_ + 1'000};
  }

 private:
  Time local_;
  Time virtual_;
  int64_t drift_ppm_ = 0;
};

}  // namespace keiko::sim
