// What an agent measures, and the port where it shows it: the sources of this machine put together.
#pragma once

#include <memory>
#include <string>

#include "agent/metrics/device_readings.h"
#include "agent/metrics/http_port.h"
#include "agent/metrics/telemetry_loop.h"
#include "agent/state_folder.h"
#include "cli/option_set.h"
#include "device_choice.h"

namespace keiko::apps {

/// As the command line says it.
struct TelemetryGiven {
  std::string listen = "127.0.0.1";
  int64_t port = -1;  ///< -1: none
  agent::TelemetryOptions loop;
};

void add_telemetry_options(cli::OptionSet& options, TelemetryGiven& given);
/// RETURNS: kInvalidArgument for what does not go together.
Done complete_telemetry(const TelemetryGiven& given);

struct TelemetryPlace {
  agent::StateFolder& folder;
  const DeviceChoice& devices;
  std::string node;
  std::string kernel_log;  ///< the log's file; "none": only the drivers tell of XIDs
};

/// The parts in the order of their making.
struct AgentTelemetry {
  std::shared_ptr<agent::DeviceReadings> devices;
  std::unique_ptr<agent::TelemetryLoop> loop;  ///< null: nothing is measured
  std::unique_ptr<agent::HttpPort> port;       ///< null: nothing is shown
};

/// Starts to measure, and to listen if a port was given; then the address stands in the file
/// "metrics" of the state folder. RETURNS: an Error if the port cannot be had.
Result<AgentTelemetry> start_telemetry(const TelemetryGiven& given, const TelemetryPlace& place);

}  // namespace keiko::apps
