#include "verb_agent.h"

#include <unistd.h>

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
#include "drivers/images/cdi/cdi_spec.h"
#include "drivers/kmsg/kmsg_log.h"
#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/image/image_runtime.h"
#include "drivers/substrate/process/process_substrate.h"
#include "drivers/substrate/process/visit/process_door.h"
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
  bool no_near_cores = false;
  std::vector<std::string> shared_devices;
  int64_t worker_threads = ProcessSubstrateOptions{}.pids_limit;
  std::string cdi_folder;     ///< where other runtimes look for devices
  bool take_workers = false;  ///< on SIGTERM
};

/// Said once when the agent starts, and then by `keiko nodes`.
void look_for_images(agent::AgentOptions& options) {
  const Result<std::string> runtime =
      process::probe_image_runtime(process::image_init_beside_program());
  if (runtime.ok()) options.image_runtime = *runtime;
  else options.image_trouble = runtime.error().message;
  log_info("images", runtime.ok() ? "run_by=" + quote_text(*runtime)
                                  : "why_not=" + quote_text(options.image_trouble));
}

/// So that other runtimes on the machine know the node's devices by the names that jobs see.
Done write_cdi_spec(const std::string& folder, const NodeSpec& node) {
  const std::string path = folder + "/keiko-" + node.name + ".json";
  const std::string text = images::cdi_spec_of(node.devices);
  if (text.empty()) {
    log_warn("cdi_spec_left_out", "why=\"no device of this node has a file\"");
    return done();
  }
  TRY(process::make_folders(folder));
  return process::write_atomically(path, text, false);
}

Done serve(Given& given) {
  // First of all: hwloc takes a moved root only in a process without threads.
  HwlocHost host(given.devices.sysfs.root);
  look_for_images(given.agent);
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
  if (!given.cdi_folder.empty()) TRY(write_cdi_spec(given.cdi_folder, loop->spec()));
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

/// A slip of the pen must not switch an operator's own checks off without a word.
Done check_given_files(const Given& given) {
  const LocalChecksOptions usual;
  std::error_code error;
  const std::string& hooks = given.checks.hooks_dir;
  if (!hooks.empty() && hooks != usual.hooks_dir && !std::filesystem::is_directory(hooks, error)) {
    return failed_precondition("--checks-dir " + hooks + " is no folder; give one that is there, "
                               "or none");
  }
  const std::string& reset = given.checks.reset_program;
  if (!reset.empty() &&
      (!std::filesystem::is_regular_file(reset, error) || access(reset.c_str(), X_OK) != 0)) {
    return failed_precondition("--reset-program " + reset + " is no executable file");
  }
  for (const std::string& path : given.shared_devices) {
    if (std::filesystem::exists(path, error)) continue;
    return failed_precondition("--allow-device " + path + " is not there");
  }
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
  if (!given.cdi_folder.empty()) given.cdi_folder = (here / given.cdi_folder).lexically_normal();
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
  given.agent.bind_near_devices = !given.no_near_cores;
  TRY(check_given_files(given));
  given.take_workers = call.variable("KEIKO_STOP_WORKERS") == "1";
  given.agent.base_env = agent::base_environment();
  return complete_telemetry(given.telemetry);
}

void add_disk_options(cli::OptionSet& options, agent::AgentOptions& agent) {
  options.bytes("--disk-floor", agent.disk_floor,
                "with less room in the state folder the node takes no work until there is half as "
                "much again; 0: never; a disk below 16 times of it has no floor (64MiB)");
  options.duration("--log-keep", agent.logs.keep,
                   "keep output here so long after the server has it; 0: not at all (1h)");
  options.integer("--log-workers", "N", agent.logs.workers,
                  "of so many workers at most; 0: no limit (10000)").low = 0;
  options.bytes("--log-total", agent.logs.total,
                "what output here may take; the oldest that the server has goes; 0: no limit "
                "(10GiB)");
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
  add_disk_options(options, given->agent);
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
  options.flag("--no-near-cores", given->no_near_cores,
               "let workers with accelerators run on every core, not only on their fair share of "
               "those beside them");
  options.text("--write-cdi", "DIR", given->cdi_folder,
               "write a CDI spec of the node's devices there, for other runtimes on the machine; "
               "/etc/cdi as a rule")
      .completes = cli::Completes::kDirectory;
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
