#include "agent_telemetry.h"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "agent/metrics/kernel_xids.h"
#include "agent/metrics/pages.h"
#include "drivers/clock/system/system_clock.h"
#include "drivers/host/proc/network_readings.h"
#include "drivers/host/proc/node_readings.h"
#include "drivers/host/proc/worker_readings.h"
#include "drivers/kmsg/kmsg_log.h"

namespace keiko::apps {
namespace {

constexpr Duration kShortest = milliseconds(100);
constexpr const char* kAddressFile = "metrics";  // in the state folder

agent::PageSources page_sources(const AgentTelemetry& parts, std::shared_ptr<Clock> clock,
                                const std::string& node) {
  agent::TelemetryLoop* const loop = parts.loop.get();
  agent::PageSources sources;
  sources.metrics = [loop, devices = parts.devices, node] {
    return loop->metrics_text(devices->terms(node));
  };
  sources.past = [loop](const std::string& name, const std::string& id) {
    return loop->past(name, id);
  };
  sources.now = [clock] { return clock->now(); };
  sources.wall = [clock] { return clock->wall(); };
  return sources;
}

}  // namespace

void add_telemetry_options(cli::OptionSet& options, TelemetryGiven& given) {
  options.duration("--sample-every", given.loop.every,
                   "how often devices and machine are measured; 0: never (1s)");
  options
      .integer("--metrics-port", "PORT", given.port,
               "show /metrics to Prometheus on this port; 0: any that is free, written to the file "
               "metrics in --state (none)")
      .between(0, 65535);
  options.text("--metrics-listen", "ADDRESS", given.listen,
               "where --metrics-port listens; whoever reaches it may read all metrics (127.0.0.1)");
}

Done complete_telemetry(const TelemetryGiven& given) {
  const Duration every = given.loop.every;
  if (every.ns != 0 && every < kShortest) {
    return invalid_argument("--sample-every " + to_text(every) +
                            ": 100ms at least, or 0 for never");
  }
  if (every.ns == 0 && given.port >= 0) {
    return invalid_argument("--metrics-port: with --sample-every 0 there is nothing to show");
  }
  return done();
}

Result<AgentTelemetry> start_telemetry(const TelemetryGiven& given, const TelemetryPlace& place) {
  AgentTelemetry parts;
  std::error_code ignored;
  std::filesystem::remove(place.folder.path() + "/" + kAddressFile, ignored);  // of the one before
  if (given.loop.every.ns == 0) return parts;
  const auto clock = std::make_shared<SystemClockDriver>(Time{});
  parts.devices = std::make_shared<agent::DeviceReadings>(
      [choice = place.devices] { return make_devices(choice); }, clock);
  parts.loop = std::make_unique<agent::TelemetryLoop>(given.loop, clock);
  parts.loop->add("devices", parts.devices);
  parts.loop->add("node", std::make_shared<NodeReadings>("/", place.folder.path()));
  parts.loop->add("network", std::make_shared<NetworkReadings>(place.devices.sysfs.root));
  parts.loop->add("workers", std::make_shared<WorkerReadings>(
                                 place.folder.path(),
                                 [devices = parts.devices] { return devices->holders(); }));
  if (place.kernel_log != "none") {
    parts.loop->add("kernel", std::make_shared<agent::KernelXids>(
                                  std::make_unique<KmsgLog>(place.kernel_log), parts.devices));
  }
  if (given.port < 0) return parts;
  agent::HttpPortOptions options;
  options.address = given.listen;
  options.port = static_cast<int>(given.port);
  const agent::PageSources sources = page_sources(parts, clock, place.node);
  parts.port = TRY(agent::HttpPort::open(
      options, [sources](const std::string& target) { return agent::page_of(target, sources); }));
  const bool v6 = given.listen.find(':') != std::string::npos;
  const std::string address = (v6 ? "[" + given.listen + "]" : given.listen) + ":" +
                              std::to_string(parts.port->port());
  TRY(place.folder.store(kAddressFile, address + "\n"));
  std::printf("keiko agent: metrics at http://%s/metrics\n", address.c_str());
  std::fflush(stdout);
  return parts;
}

}  // namespace keiko::apps
