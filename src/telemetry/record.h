// Record: everything that telemetry remembers of one machine: the newest readings of each source,
// what follows from them (rates, flapping), and the past of each metric.
//
// Memory is bounded: beyond the most series, a new one takes the place of one that has gone, the
// longest gone first; if none has, it has no past. Readings that are not in the catalogue are
// counted and left out. Pure; for one thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/reading.h"
#include "telemetry/counter.h"
#include "telemetry/options.h"
#include "telemetry/series.h"

namespace keiko::telemetry {

/// The past of one metric of one subject, in exposed units.
struct Past {
  const MetricRow* row = nullptr;
  Subject subject;
  int64_t resets = 0;  ///< of a counter: how often it began again
  std::vector<Point> fine;
  std::vector<Point> coarse;
};

class Record {
 public:
  explicit Record(RecordOptions options) : options_(options) {}

  /// All that `source` told at `at`; it replaces what it told before. REQUIRES: `at` never goes
  /// back for one source.
  void put(const std::string& source, Time at, std::vector<Reading> readings);

  /// RETURNS: the newest readings with what follows from them, in the order of their subjects,
  /// without those that are older than options.fresh: what a source told before it hung is past.
  std::vector<Reading> latest(Time now) const;

  /// RETURNS: the past of the metrics of this name; of all subjects if `id` is empty.
  std::vector<Past> past(const std::string& name, const std::string& id, Time now) const;

  size_t series_count() const { return series_.size(); }
  size_t size_bytes() const;
  int64_t unknown_count() const { return unknown_count_; }  ///< readings left out so far

 private:
  using Key = std::pair<Subject, const MetricRow*>;
  struct Kept {
    Series series;
    Time at;  ///< of the last value
  };
  struct Counting {
    CounterTrack track;
    FlapTrack flaps;
    Time at;
  };
  struct Told {
    Time at;
    std::vector<Reading> readings;
  };

  void complete(Time at, Reading& reading);
  void count(Time at, const Key& key, double& value, Values& derived);
  void keep(Time at, const Key& key, double value);
  bool make_room(Time at);
  void forget_gone(Time at);

  RecordOptions options_;
  std::map<std::string, Told> told_;  ///< by source
  std::map<Key, Counting> counting_;
  std::map<Key, Kept> series_;
  int64_t unknown_count_ = 0;
};

}  // namespace keiko::telemetry
