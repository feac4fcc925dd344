// Options of telemetry's memory; how often sources are read is the agent's business.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "telemetry/series.h"

namespace keiko::telemetry {

struct RecordOptions {
  /// Readings older than this are not shown as the present: a few samples may be late, a source
  /// that hangs may not look alive.
  Duration fresh = seconds(10);
  /// Series with a past, about 20 kB each: enough for 8 GPUs, a dozen NICs and their RDMA ports.
  size_t series_most = 1200;
  /// Steps and lengths of the past; tests shorten it.
  SeriesShape shape;
};

}  // namespace keiko::telemetry
