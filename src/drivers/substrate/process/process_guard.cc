// Device rules of the process substrate: what a worker may open, said once and looked at again.
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

}  // namespace

/// What the kernel lets us hold is found out on a group of its own, so that it is said once and not
/// with every worker.
void ProcessSubstrate::tell_isolation() {
  const std::vector<process::CgroupTree> trees = process::find_cgroup_trees(
      options_.cgroup_root, process::read_file("/proc/self/cgroup").value_or(""));
  process::CgroupLimits limits{gibibytes(1), 0, false, {}};
  limits.pids = options_.pids_limit;
  if (options_.guard_devices) limits.devices = process::harmless_device_rules();
  const process::WorkerCgroup probe(trees, "probe-" + std::to_string(getpid()), limits);
  probe.remove();
  guards_devices_ = options_.guard_devices && probe.holds_devices();
  const auto word = [](bool held) { return held ? "held" : "free"; };
  std::string text = "cgroups=" + version_of(trees) + " memory=" + word(probe.holds_memory()) +
                     " pids=" + word(probe.holds_pids()) + " devices=" + word(guards_devices_);
  if (options_.guard_devices && !guards_devices_) {
    text += " why=" + quote_text("workers can open every device of the machine: " +
                                 probe.devices_unheld());
    log_warn("isolation", text);
    return;
  }
  log_info("isolation", text);
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
