#include "model/history.h"

#include <algorithm>

namespace keiko {

void add(Bucket& bucket, double value) { merge(bucket, {value, value, value, 1}); }

void merge(Bucket& bucket, const Bucket& other) {
  if (other.count == 0) return;
  if (bucket.count == 0) {
    bucket = other;
    return;
  }
  bucket.min = std::min(bucket.min, other.min);
  bucket.max = std::max(bucket.max, other.max);
  const int64_t count = bucket.count + other.count;
  // Weighted, as a sum would overflow where the numbers themselves do not.
  const double part = static_cast<double>(other.count) / static_cast<double>(count);
  bucket.mean = bucket.mean * (1 - part) + other.mean * part;
  bucket.count = count;
}

void merge(SubjectBuckets& into, const SubjectBuckets& other) {
  for (const auto& [subject, buckets] : other) {
    Buckets& target = into[subject];
    for (const auto& [metric, bucket] : buckets) merge(target[metric], bucket);
  }
}

}  // namespace keiko
