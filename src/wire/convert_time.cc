// Spans and points of time between the model's nanoseconds and protobuf's seconds and nanos.
#include <cstdlib>
#include <limits>

#include "wire/convert.h"

namespace keiko {
namespace {

constexpr int64_t kNanos = 1'000'000'000;
constexpr int64_t kMaxSeconds = std::numeric_limits<int64_t>::max() / kNanos - 1;

}  // namespace

void set_proto(google::protobuf::Duration& out, Duration duration) {
  out.set_seconds(duration.ns / kNanos);
  out.set_nanos(static_cast<int32_t>(duration.ns % kNanos));
}

void set_proto(google::protobuf::Timestamp& out, Time time) {
  int64_t seconds = time.ns / kNanos;
  int64_t nanos = time.ns % kNanos;
  if (nanos < 0) {  // protobuf counts nanos forward, before 1970 too
    --seconds;
    nanos += kNanos;
  }
  out.set_seconds(seconds);
  out.set_nanos(static_cast<int32_t>(nanos));
}

Result<Duration> from_proto(const google::protobuf::Duration& in, const std::string& field) {
  const bool fits = in.seconds() >= -kMaxSeconds && in.seconds() <= kMaxSeconds &&
                    std::abs(static_cast<int64_t>(in.nanos())) < kNanos;
  if (!fits) {
    return invalid_argument(field + ": the duration is out of range; use less than 290 years",
                            field);
  }
  return Duration{in.seconds() * kNanos + in.nanos()};
}

Time from_proto(const google::protobuf::Timestamp& in) {
  if (in.seconds() > kMaxSeconds) return Time{std::numeric_limits<int64_t>::max()};
  if (in.seconds() < -kMaxSeconds) return Time{std::numeric_limits<int64_t>::min()};
  return Time{in.seconds() * kNanos + in.nanos()};
}

}  // namespace keiko
