#include "drivers/history/sqlite/history_row.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/fields.h"

namespace keiko::sqlite_history {
namespace {

float narrow(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kMost, kMost));
}

void put_float(std::string& out, double value) {
  const uint32_t bits = std::bit_cast<uint32_t>(narrow(value));
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(bits >> shift & 0xff);
}

bool take_float(std::string_view& in, double& value) {
  if (in.size() < 4) return false;
  uint32_t bits = 0;
  for (size_t i = 0; i < 4; ++i) bits |= uint32_t{static_cast<unsigned char>(in[i])} << (8 * i);
  in.remove_prefix(4);
  value = static_cast<double>(std::bit_cast<float>(bits));
  return std::isfinite(value);
}

bool take_bucket(std::string_view& in, bool equal, Bucket& bucket) {
  uint64_t count = 0;
  if (!take_varint(in, count) || count == 0 || count > INT32_MAX) return false;
  bucket.count = static_cast<int64_t>(count);
  if (!take_float(in, bucket.mean)) return false;
  bucket.min = bucket.max = bucket.mean;
  return equal || (take_float(in, bucket.min) && take_float(in, bucket.max));
}

}  // namespace

std::string pack(const SubjectBuckets& subjects,
                 const std::function<uint64_t(const std::string&)>& number_of) {
  std::string out;
  for (const auto& [subject, buckets] : subjects) {
    put_varint(out, number_of(subject));
    put_varint(out, buckets.size());
    for (const auto& [metric, bucket] : buckets) {
      const bool equal =
          narrow(bucket.min) == narrow(bucket.mean) && narrow(bucket.max) == narrow(bucket.mean);
      put_varint(out, number_of(metric) << 1 | (equal ? 1 : 0));
      put_varint(out, static_cast<uint64_t>(std::clamp<int64_t>(bucket.count, 1, INT32_MAX)));
      put_float(out, bucket.mean);
      if (equal) continue;
      put_float(out, bucket.min);
      put_float(out, bucket.max);
    }
  }
  return out;
}

bool unpack(std::string_view body, const std::function<const std::string*(uint64_t)>& word_of,
            SubjectBuckets& subjects) {
  while (!body.empty()) {
    uint64_t number = 0;
    uint64_t metrics = 0;
    if (!take_varint(body, number) || !take_varint(body, metrics)) return false;
    const std::string* const subject = word_of(number);
    if (subject == nullptr) return false;
    Buckets& buckets = subjects[*subject];
    for (; metrics > 0; --metrics) {
      uint64_t key = 0;
      if (!take_varint(body, key)) return false;
      const std::string* const metric = word_of(key >> 1);
      if (metric == nullptr || !take_bucket(body, (key & 1) != 0, buckets[*metric])) return false;
    }
  }
  return true;
}

}  // namespace keiko::sqlite_history
