// History: numbers of the past, thinned: what a metric was within a span of time.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"

namespace keiko {

/// A metric within one span of time.
struct Bucket {
  double min = 0;
  double max = 0;
  double mean = 0;
  int64_t count = 0;  ///< readings in it; an empty bucket has none and its numbers mean nothing

  friend bool operator==(const Bucket&, const Bucket&) = default;
};

/// One more reading. REQUIRES: `value` is finite.
void add(Bucket& bucket, double value);

/// Makes `bucket` what it would be had it got the readings of `other` as well.
void merge(Bucket& bucket, const Bucket& other);

using Buckets = std::map<std::string, Bucket>;           ///< by metric
using SubjectBuckets = std::map<std::string, Buckets>;   ///< by device UUID; "": the node itself

/// Merges each bucket into its like.
void merge(SubjectBuckets& into, const SubjectBuckets& other);

/// All of one node within [at, at + step).
struct HistoryRow {
  Duration step;
  WallTime at;  ///< a multiple of `step`
  std::string node;
  SubjectBuckets subjects;
};

/// RETURNS: where the span of `step` begins that holds `at`. REQUIRES: at.ns >= 0, step.ns > 0.
constexpr WallTime span_begin(WallTime at, Duration step) { return {at.ns - at.ns % step.ns}; }

}  // namespace keiko
