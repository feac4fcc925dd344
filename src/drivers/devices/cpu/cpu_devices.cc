#include "drivers/devices/cpu/cpu_devices.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/digest.h"
#include "base/text.h"

namespace keiko {
namespace {

/// A scheduler's view of one machine; beyond it a count is a typing error.
constexpr int32_t kMostSlots = 4096;

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string make_uuid(const std::string& instance, int32_t index) {
  return "cpu-" + to_text(digest_of(instance + "/" + std::to_string(index)));
}

}  // namespace

/// The cores that this process may use, which in a container are not all there are.
std::vector<int32_t> CpuDevices::cores() const {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int32_t> usable;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int32_t core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(static_cast<size_t>(core), &set)) usable.push_back(core);
    }
  }
  if (usable.empty()) {
    const auto online = static_cast<int32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    for (int32_t core = 0; core < online; ++core) usable.push_back(core);
  }
  return usable;
}

int32_t CpuDevices::count(const std::vector<int32_t>& cores) const {
  return options_.count > 0 ? options_.count : static_cast<int32_t>(cores.size());
}

/// Equal shares of the cores; with more slots than cores, several slots share one.
std::vector<int32_t> CpuDevices::cores_of_slot(const std::vector<int32_t>& cores, int32_t slot,
                                               int32_t count) const {
  const auto size = static_cast<int64_t>(cores.size());
  const int64_t begin = slot * size / count;
  const int64_t end = std::max(begin + 1, (slot + 1) * size / count);
  return {cores.begin() + begin, cores.begin() + end};
}

std::map<int32_t, int32_t> CpuDevices::numa_nodes() const {
  std::map<int32_t, int32_t> node_of_core;
  const std::string folder = options_.sys_root + "/devices/system/node";
  for (const int32_t node : parse_number_list(read_text(folder + "/online"))) {
    const std::string list = read_text(folder + "/node" + std::to_string(node) + "/cpulist");
    for (const int32_t core : parse_number_list(list)) node_of_core[core] = node;
  }
  return node_of_core;
}

int64_t CpuDevices::memory_line_bytes(std::string_view name) const {
  std::istringstream lines(read_text(options_.proc_root + "/meminfo"));
  std::string word;
  while (lines >> word) {
    int64_t kib = 0;
    if (word == name && lines >> kib) return kibibytes(kib).count;
    lines.ignore(256, '\n');
  }
  return 0;
}

Result<Inventory> CpuDevices::fingerprint() {
  if (options_.count < 0 || options_.count > kMostSlots) {
    return invalid_argument("cpu slots: " + std::to_string(options_.count) +
                            " is not between 0 (one per core) and " + std::to_string(kMostSlots));
  }
  const std::vector<int32_t> usable = cores();
  const int32_t slots = count(usable);
  const std::map<int32_t, int32_t> node_of_core = numa_nodes();
  std::string instance = options_.instance;
  if (instance.empty()) instance = trim(read_text(options_.machine_id_file));
  Bytes memory = options_.memory;
  if (memory.count <= 0) memory.count = memory_line_bytes("MemTotal:") / slots;

  Inventory inventory;
  inventory.links = TRY(parse_links(options_.links, slots));
  for (int32_t index = 0; index < slots; ++index) {
    Device device;
    device.uuid = make_uuid(instance, index);
    device.kind = "cpu";
    device.vendor = "cpu";
    device.index = index;
    device.memory = memory;
    const auto node = node_of_core.find(cores_of_slot(usable, index, slots).front());
    if (node != node_of_core.end()) device.numa_node = node->second;
    inventory.devices.push_back(device);
  }
  return inventory;
}

Result<std::map<std::string, std::string>> CpuDevices::visibility(
    const std::vector<std::string>& uuids) {
  const Inventory inventory = TRY(fingerprint());
  const std::string list = TRY(uuids_in_index_order(inventory, uuids));
  return std::map<std::string, std::string>{{"KEIKO_VISIBLE_DEVICES", list}};
}

Result<std::vector<DeviceProcess>> CpuDevices::processes(const std::string& uuid) {
  const Inventory inventory = TRY(fingerprint());
  TRY(check_device_here(inventory, uuid));
  return std::vector<DeviceProcess>{};
}

std::map<int32_t, CpuDevices::CoreTimes> CpuDevices::core_times() const {
  // "cpu3 user nice system idle iowait irq softirq steal ...", in ticks; proc(5).
  std::map<int32_t, CoreTimes> times;
  std::istringstream lines(read_text(options_.proc_root + "/stat"));
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    uint64_t core = 0;
    if (name.compare(0, 3, "cpu") != 0 || !parse_digits(name.substr(3), core)) continue;
    CoreTimes sum;
    int64_t ticks = 0;
    for (int column = 0; column < 8 && words >> ticks; ++column) {
      sum.total += ticks;
      const bool idle = column == 3 || column == 4;
      if (!idle) sum.busy += ticks;
    }
    times[static_cast<int32_t>(core)] = sum;
  }
  return times;
}

Result<std::vector<DeviceStats>> CpuDevices::stats() {
  const Inventory inventory = TRY(fingerprint());
  const std::vector<int32_t> usable = cores();
  const std::map<int32_t, CoreTimes> times = core_times();
  const int64_t available = memory_line_bytes("MemAvailable:");
  std::vector<DeviceStats> readings;
  for (const Device& device : inventory.devices) {
    DeviceStats stats{device.uuid, {}};
    int64_t busy = 0;
    int64_t total = 0;
    for (const int32_t core : cores_of_slot(usable, device.index, count(usable))) {
      const auto now = times.find(core);
      const auto last = last_times_.find(core);
      if (now == times.end() || last == last_times_.end()) continue;
      busy += now->second.busy - last->second.busy;
      total += now->second.total - last->second.total;
    }
    if (total > 0) {
      const double ratio = static_cast<double>(busy) / static_cast<double>(total);
      stats.values["utilisation_ratio"] = std::clamp(ratio, 0.0, 1.0);
    }
    if (available > 0) stats.values["memory_available_bytes"] = static_cast<double>(available);
    readings.push_back(std::move(stats));
  }
  last_times_ = times;
  return readings;
}

}  // namespace keiko
