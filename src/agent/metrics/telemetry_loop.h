// TelemetryLoop: reads every source once a second, each on a thread of its own, and remembers what
// they told. A source that hangs holds up nothing but itself: its readings soon count as past, and
// when the agent stops it is left behind.
//
//   source ──thread──► Record ──► latest(), past(), metrics_text()
//   source ──thread──┘    └─────► on_readings, once a second at most
//
// Public functions are safe from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/metrics/options.h"
#include "ports/clock.h"
#include "telemetry/exposition.h"
#include "telemetry/reading_source.h"
#include "telemetry/record.h"

namespace keiko::agent {

class TelemetryLoop {
 public:
  /// REQUIRES: what sources use outlives every thread, those of hanging sources too.
  TelemetryLoop(const TelemetryOptions& options, std::shared_ptr<Clock> clock);
  ~TelemetryLoop();
  TelemetryLoop(const TelemetryLoop&) = delete;
  TelemetryLoop& operator=(const TelemetryLoop&) = delete;

  /// Reads `source` from now on. `name` is a word: "devices".
  void add(const std::string& name, std::shared_ptr<telemetry::ReadingSource> source);

  /// Called from a source's thread with the latest readings of all, never by two threads at once;
  /// empty: nobody listens. Once this has returned, the one before is not called any more.
  void on_readings(std::function<void(const std::vector<Reading>&)> callback);

  std::vector<Reading> latest() const;
  std::vector<telemetry::Past> past(const std::string& name, const std::string& id) const;

  /// RETURNS: all metrics of this machine in Prometheus' text format, those of the sampling itself
  /// included.
  std::string metrics_text(const telemetry::ExpositionTerms& terms) const;

 private:
  struct Shared;
  struct Sampler;
  static void run(const std::shared_ptr<Shared>& shared, const std::shared_ptr<Sampler>& sampler);

  std::shared_ptr<Shared> shared_;
  std::vector<std::shared_ptr<Sampler>> samplers_;
};

}  // namespace keiko::agent
