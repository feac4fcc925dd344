// Device rules of the process substrate: what a worker may open, said once and looked at again.
#include <sched.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "drivers/substrate/process/devices/device_guard.h"
#include "drivers/substrate/process/proc.h"
#include "drivers/substrate/process/process_substrate.h"

namespace keiko {
namespace {

/// "hybrid", "v1", "v2" or "none".
std::string version_of(const std::vector<process::CgroupTree>& trees) {
  if (trees.empty()) return "none";
  if (!trees[0].controller.empty()) return "v1";
  return trees.size() > 1 ? "hybrid" : "v2";
}

/// RETURNS: nothing if the kernel does not say.
std::vector<int32_t> first_usable_core() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  for (int32_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<size_t>(core), &set)) return {core};
  }
  return {};
}

std::string text_of(const Isolation& isolation) {
  std::string text = "cgroups=" + isolation.cgroups;
  std::vector<std::string> why;
  for (const Guard& guard : isolation.guards) {
    text += " " + guard.name + "=" + quote_text(guard.by.empty() ? "nothing" : guard.by);
    if (!guard.why_not.empty()) why.push_back(guard.name + ": " + guard.why_not);
  }
  return why.empty() ? text : text + " why=" + quote_text(join(why, "; "));
}

}  // namespace

/// What the kernel lets us hold is found out on a group of its own, so that it is said once and not
/// with every worker.
void ProcessSubstrate::find_isolation() {
  const std::vector<process::CgroupTree> trees = process::find_cgroup_trees(
      options_.cgroup_root, process::read_file("/proc/self/cgroup").value_or(""));
  process::CgroupLimits limits{gibibytes(1), 1000, options_.cpu_ceiling, first_usable_core()};
  limits.pids = options_.pids_limit;
  if (options_.guard_devices) limits.devices = process::harmless_device_rules();
  const process::WorkerCgroup probe(trees, "probe-" + std::to_string(getpid()), limits);
  const bool by_list = process::exists(process::device_group(probe.folders()) + "/devices.list");
  probe.remove();
  guards_devices_ = options_.guard_devices && probe.holds_devices();

  const auto missing = [&](const char* controller) {
    if (options_.cgroup_root.empty()) return std::string("cgroups are turned off (--no-cgroups)");
    return std::string("no writable ") + controller + " cgroup";
  };
  const auto held = [&](const char* name, const char* controller, const char* instead) {
    const std::string by = probe.held_by(name);
    if (!by.empty()) return Guard{name, by, {}};
    return Guard{name, instead, missing(controller)};
  };
  Guard threads = held("threads", "pids", "");
  if (options_.pids_limit == 0) threads.why_not = "turned off (--worker-threads 0)";
  Guard devices{"devices", by_list ? "device list" : "device program", {}};
  if (!guards_devices_) {
    devices.by.clear();
    devices.why_not = options_.guard_devices ? probe.devices_unheld()
                                             : "turned off (--no-device-guard)";
  }
  isolation_ = {version_of(trees),
                {held("memory", "memory", "rlimit"), held("cpu", "cpu", ""),
                 held("cores", "cpuset", "affinity"), threads, devices}};
  const bool open_to_all = options_.guard_devices && !guards_devices_;
  if (open_to_all) log_warn("isolation", text_of(isolation_));
  else log_info("isolation", text_of(isolation_));
}

std::vector<std::string> ProcessSubstrate::device_rules_of(const WorkerProcess& process) {
  if (!guards_devices_) return {};
  std::vector<std::string> missing;
  std::vector<process::DeviceRule> rules = process::rules_of_files(process.device_files, missing);
  if (!missing.empty()) {
    log_warn("device_node_missing", "worker=" + to_text(process.key) + " nodes=" +
                                        quote_text(join(missing, ", ")));
  }
  std::vector<std::string> absent;  // a machine without RDMA, say
  for (const process::DeviceRule& rule : process::rules_of_files(options_.shared_devices, absent)) {
    rules.push_back(rule);
  }
  for (const process::DeviceRule& rule : process::harmless_device_rules()) rules.push_back(rule);
  std::vector<std::string> lines;
  for (const process::DeviceRule& rule : process::sorted(rules)) lines.push_back(to_text(rule));
  return lines;
}

void ProcessSubstrate::guard_devices() {
  const Duration now = process::monotonic_now();
  if (now - guarded_at_ < options_.guard_every) return;
  guarded_at_ = now;
  for (auto& [key, worker] : workers_) {
    const bool runs = worker.state.status == WorkerStatus::kRunning;
    if (!runs || worker.launch.device_rules.empty()) continue;
    const std::string folder = process::device_group(worker.running.cgroups);
    if (folder.empty()) continue;
    const Result<std::string> wrong = process::restore_devices(
        folder, process::parse_device_rules(join(worker.launch.device_rules, "\n")));
    if (!wrong.ok()) {
      log_warn("device_rules_unknown", "worker=" + to_text(key) + " why=" +
                                           quote_text(wrong.error().text()));
    } else if (!wrong->empty()) {
      log_warn("device_rules_restored", "worker=" + to_text(key) + " found=" + quote_text(*wrong));
    }
  }
}

}  // namespace keiko
