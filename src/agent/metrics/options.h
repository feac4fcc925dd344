// Options of what the agent measures and shows.
#pragma once

#include <string>

#include "base/time.h"
#include "telemetry/options.h"

namespace keiko::agent {

struct TelemetryOptions {
  /// Between two readings of a source. One second shows what a training step does; the drivers and
  /// the ring buffers are made for it.
  Duration every = seconds(1);
  /// A source that takes longer than this to end when the agent stops is left to itself.
  Duration stop_patience = seconds(2);
  /// How much of the past is kept.
  telemetry::RecordOptions record;
};

struct HttpPortOptions {
  /// Where to listen. Whoever reaches it may read all metrics, so by default only this machine
  /// does.
  std::string address = "127.0.0.1";
  /// 0: any free port.
  int port = 0;
  /// Clients at once; the next one finds the door closed. A scraper needs one.
  size_t clients_most = 32;
  /// A client that has not sent its request, or taken its answer, within this time is dropped.
  Duration patience = seconds(10);
};

}  // namespace keiko::agent
