#include "verb_agent.h"

#include <cstdio>
#include <filesystem>
#include <stop_token>

#include "agent/agent_loop.h"
#include "agent/machine.h"
#include "agent_telemetry.h"
#include "base/log.h"
#include "base/text.h"
#include "device_choice.h"
#include "drivers/checks/local/local_checks.h"
#include "drivers/clock/system/system_clock.h"
#include "drivers/host/hwloc/hwloc_host.h"
#include "drivers/kmsg/kmsg_log.h"
#include "drivers/substrate/process/process_door.h"
#include "drivers/substrate/process/process_substrate.h"
#include "node_place.h"
#include "stop_signals.h"

namespace keiko::apps {
namespace {

struct Given {
  agent::AgentOptions agent;
  DeviceChoice devices;
  std::string state;
  std::vector<std::string> labels;
  std::string place;
  std::string kernel_log = "/dev/kmsg";
  TelemetryGiven telemetry;
  LocalChecksOptions checks;
  bool no_checks = false;
  bool no_cgroups = false;
  bool no_device_guard = false;
  std::vector<std::string> shared_devices;
  int64_t worker_threads = ProcessSubstrateOptions{}.pids_limit;
  bool take_workers = false;  ///< on SIGTERM
};

Done serve(Given& given) {
  // First of all: hwloc takes a moved root only in a process without threads.
  HwlocHost host(given.devices.sysfs.root);
  StopSignals signals;
  agent::StateFolder folder = TRY(agent::StateFolder::open(given.state));
  given.devices.cpu.instance = folder.instance();
  given.devices.sysfs.instance = folder.instance();
  const std::unique_ptr<Devices> devices = TRY(make_devices(given.devices));
  SystemClockDriver clock(Time{});
  ProcessSubstrateOptions options;
  options.state_dir = given.state;
  if (given.no_cgroups) options.cgroup_root.clear();
  options.guard_devices = !given.no_device_guard;
  options.pids_limit = given.worker_threads;
  options.shared_devices.insert(options.shared_devices.end(), given.shared_devices.begin(),
                                given.shared_devices.end());
  const auto substrate = TRY(ProcessSubstrate::open(options));
  agent::AgentParts parts{folder, *substrate, *devices, clock, [](AgentListener& listener) {
                            return make_agent_link(listener);
                          }, &host};
  parts.make_ship_link = [](LogShipListener& listener) { return make_log_ship_link(listener); };
  ProcessDoor door(given.state);
  parts.door = &door;
  KmsgLog kernel_log(given.kernel_log);
  if (given.kernel_log != "none") parts.kernel_log = &kernel_log;
  if (!given.no_checks) {
    parts.make_checks = [&given]() -> std::unique_ptr<Checks> {
      return std::make_unique<LocalChecks>(given.checks,
                                           [&given] { return make_devices(given.devices); });
    };
  }
  const auto loop = TRY(agent::AgentLoop::open(given.agent, parts));
  const auto telemetry =
      TRY(start_telemetry(given.telemetry, {folder, given.devices, loop->spec().name,
                                            given.kernel_log}));
  if (telemetry.loop) {
    telemetry.loop->on_readings(
        [&loop](const std::vector<Reading>& readings) { loop->send_readings(readings); });
  }
  const std::stop_callback stop(signals.token(), [&] { loop->stop(given.take_workers); });
  std::printf("keiko agent: node %s joins %s\n", loop->spec().name.c_str(),
              given.agent.server.c_str());
  std::fflush(stdout);
  return loop->run();
}

/// Labels of the place that no --label gave.
Done add_place(Given& given) {
  if (given.place.empty()) return done();
  const std::string node =
      given.agent.name.empty() ? agent::usual_node_name() : given.agent.name;
  const std::map<std::string, std::string> labels = TRY(labels_of_place(given.place, node));
  if (labels.empty()) {
    log_warn("place_unknown", "node=" + node + " place=" + quote_text(given.place));
  }
  given.agent.labels.insert(labels.begin(), labels.end());
  return done();
}

Done complete(Given& given, const cli::Invocation& call) {
  for (const std::string& label : given.labels) {
    if (!add_label(label, given.agent.labels)) {
      return invalid_argument("--label " + label + ": write KEY=VALUE, for example rack=r7");
    }
  }
  TRY(add_place(given));
  const std::filesystem::path here = call.current_directory;
  if (given.state.empty()) given.state = cli::state_directory("", call.variable) + "/agent";
  given.state = (here / given.state).lexically_normal();
  if (given.checks.hooks_dir != "none") {
    given.checks.hooks_dir = (here / given.checks.hooks_dir).lexically_normal();
  } else {
    given.checks.hooks_dir.clear();
  }
  if (!given.checks.reset_program.empty()) {
    given.checks.reset_program = (here / given.checks.reset_program).lexically_normal();
    given.agent.checks.can_reset = true;
  }
  given.take_workers = call.variable("KEIKO_STOP_WORKERS") == "1";
  given.agent.base_env = agent::base_environment();
  return complete_telemetry(given.telemetry);
}

cli::VerbRun add_options(cli::OptionSet& options, const std::string& version) {
  auto given = std::make_shared<Given>();
  given->agent.version = version;
  options.text("--join", "HOST:PORT", given->agent.server, "the server to join").required = true;
  options.text("--name", "NAME", given->agent.name, "the node's name (this host's)");
  options.text("--address", "ADDRESS", given->agent.address, "where other nodes reach its workers");
  options.text("--state", "DIR", given->state, "workers, logs and identity").completes =
      cli::Completes::kDirectory;
  options.text(
      "--devices", "WHICH", given->devices.devices,
      "auto (accelerators, else a cpu slot for each core), nvml, rocm, gaudi, tpu, intel, cpu, or "
      "a number of cpu slots");
  options.bytes("--device-memory", given->devices.cpu.memory, "memory of each cpu slot");
  options.text("--links", "MAP", given->devices.cpu.links,
               "between cpu slots: none, ring, full or 0-1:nvlink:50000,...");
  options.text("--nvml-library", "FILE", given->devices.nvml.library,
               "NVIDIA's management library").completes = cli::Completes::kFile;
  options.text("--device-root", "DIR", given->devices.sysfs.root,
               "what holds sys, proc and dev for rocm, gaudi, tpu, intel, NUMA nodes and NICs; / "
               "unless this is a recorded machine")
      .completes = cli::Completes::kDirectory;
  options.text("--kernel-log", "FILE", given->kernel_log,
               "where the kernel tells of faults; none: ask only the drivers (/dev/kmsg)")
      .completes = cli::Completes::kFile;
  options.bytes("--memory", given->agent.memory, "what workers may use in all (the machine's)");
  options.integer("--cpu-milli", "N", given->agent.cpu_milli, "thousandths of a core to offer")
      .between(1, 1'000'000'000);
  options.texts("--label", "KEY=VALUE", given->labels, "labels that jobs may ask for");
  options.text("--place", "FILE", given->place,
               "zone and rack as labels: a file of the pool's racks, or a program that prints "
               "KEY=VALUE lines")
      .completes = cli::Completes::kFile;
  options.bytes("--disk-floor", given->agent.disk_floor,
                "with less room in the state folder the node takes no work until there is half as "
                "much again; 0: never; a disk below 16 times of it has no floor (64MiB)");
  options.text("--checks-dir", "DIR", given->checks.hooks_dir,
               "executable files that check devices and machine, none for none "
               "(/etc/keiko/checks.d)")
      .completes = cli::Completes::kDirectory;
  options.duration("--retest-after", given->agent.checks.retest_first,
               "from when something falls ill to its first re-test; doubles with each that fails "
               "(30s)");
  options.duration("--check-every", given->agent.checks.periodic_every,
               "how often an idle device is checked; 0: never (6h)");
  options.text("--reset-program", "FILE", given->checks.reset_program,
               "resets the idle device that its environment names; without it only people reset "
               "devices")
      .completes = cli::Completes::kFile;
  options.flag("--no-checks", given->no_checks,
               "start workers unchecked, and leave what is ill to an operator");
  add_telemetry_options(options, given->telemetry);
  options.flag("--no-cgroups", given->no_cgroups, "hold limits by other means");
  options.flag("--no-device-guard", given->no_device_guard,
               "let workers open every device node of the machine");
  options.texts("--allow-device", "FILE", given->shared_devices,
                "a device node, or a folder of them, that every worker may open (RDMA's may)");
  options.integer("--worker-threads", "N", given->worker_threads,
                  "threads of one worker at most (16384); 0: no limit").low = 0;
  return [given](cli::Invocation& call) -> Result<int> {
    TRY(complete(*given, call));
    TRY(serve(*given));
    return 0;
  };
}

}  // namespace

cli::Verb agent_verb(const std::string& version) {
  cli::Verb verb;
  verb.name = "agent";
  verb.group = "Daemons";
  verb.summary = "Run the agent of one machine";
  verb.examples = {"keiko agent --join head:7070 --label rack=r7"};
  verb.asks_server = false;
  verb.add_options = [version](cli::OptionSet& options) { return add_options(options, version); };
  return verb;
}

}  // namespace keiko::apps
