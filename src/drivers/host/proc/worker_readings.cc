// Files after the kernel's admin-guide/cgroup-v2.rst and cgroup-v1/*.rst, and proc(5).
#include "drivers/host/proc/worker_readings.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/id.h"
#include "base/text.h"
#include "drivers/substrate/process/cgroup.h"
#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/proc.h"
#include "drivers/sysfs/sysfs_tree.h"

namespace keiko {
namespace {

/// Above any machine's memory: how v1 says "no limit".
constexpr int64_t kNoLimit = int64_t{1} << 52;

std::string text_of(const std::string& path) {
  return process::read_file(path).value_or("");
}

double ticks_per_second() {
  static const double ticks = static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK)));
  return ticks;
}

/// A line of a "key value" file and the reading that it is.
struct Field {
  const char* key;
  const char* name;
  double scale;
};
void put_fields(Values& values, const std::string& file, const std::vector<Field>& fields) {
  for (const auto& [key, number] : parse_properties(text_of(file))) {
    for (const Field& field : fields) {
      if (key == field.key) values[field.name] = static_cast<double>(number) * field.scale;
    }
  }
}

void put_number(Values& values, const char* name, const std::string& file, double scale = 1) {
  uint64_t number = 0;
  const std::string text = text_of(file);
  if (!parse_digits(trim(text), number)) return;  // "max" is none, too
  if (std::string_view(name) == "memory_limit_bytes" && number >= kNoLimit) return;
  values[name] = static_cast<double>(number) * scale;
}

/// v2's io.stat: "8:0 rbytes=1 wbytes=2 ...", a line a disk.
void put_v2_io(Values& values, const std::string& text) {
  for (const std::string& line : split(text, '\n')) {
    for (const std::string& word : split(line, ' ')) {
      const size_t equals = word.find('=');
      uint64_t bytes = 0;
      if (equals == std::string::npos || !parse_digits(word.substr(equals + 1), bytes)) continue;
      const std::string key = word.substr(0, equals);
      if (key == "rbytes") values["read_bytes"] += static_cast<double>(bytes);
      if (key == "wbytes") values["written_bytes"] += static_cast<double>(bytes);
    }
  }
}

/// v1's blkio.throttle.io_service_bytes: "8:0 Read 1", lines of many kinds.
void put_v1_io(Values& values, const std::string& text) {
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    uint64_t bytes = 0;
    if (words.size() != 3 || !parse_digits(words[2], bytes)) continue;
    if (words[1] == "Read") values["read_bytes"] += static_cast<double>(bytes);
    if (words[1] == "Write") values["written_bytes"] += static_cast<double>(bytes);
  }
}

void read_v2(Values& values, const std::string& folder) {
  put_fields(values, folder + "/cpu.stat",
             {{"usage_usec", "cpu_seconds", 1e-6},
              {"user_usec", "cpu_user_seconds", 1e-6},
              {"system_usec", "cpu_system_seconds", 1e-6},
              {"throttled_usec", "cpu_throttled_seconds", 1e-6}});
  put_number(values, "memory_used_bytes", folder + "/memory.current");
  put_number(values, "memory_limit_bytes", folder + "/memory.max");
  put_fields(values, folder + "/memory.stat", {{"anon", "memory_resident_bytes", 1}});
  put_fields(values, folder + "/memory.events", {{"oom_kill", "oom_kills", 1}});
  put_v2_io(values, text_of(folder + "/io.stat"));
}

void read_v1(Values& values, const std::string& folder) {
  put_number(values, "cpu_seconds", folder + "/cpuacct.usage", 1e-9);
  put_fields(values, folder + "/cpuacct.stat",
             {{"user", "cpu_user_seconds", 1 / ticks_per_second()},
              {"system", "cpu_system_seconds", 1 / ticks_per_second()}});
  put_fields(values, folder + "/cpu.stat", {{"throttled_time", "cpu_throttled_seconds", 1e-9}});
  put_number(values, "memory_used_bytes", folder + "/memory.usage_in_bytes");
  put_number(values, "memory_limit_bytes", folder + "/memory.limit_in_bytes");
  put_fields(values, folder + "/memory.stat", {{"total_rss", "memory_resident_bytes", 1}});
  put_fields(values, folder + "/memory.oom_control", {{"oom_kill", "oom_kills", 1}});
  put_v1_io(values, text_of(folder + "/blkio.throttle.io_service_bytes"));
}

struct ProcessUse {
  double user = 0;
  double system = 0;
  double resident = 0;
  std::optional<double> read, written;
};

/// RETURNS: nothing if the process is gone. Times include those of children that were waited for.
std::optional<ProcessUse> use_of(int64_t pid) {
  static const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string stat = text_of(folder + "/stat");
  const size_t bracket = stat.rfind(") ");
  if (bracket == std::string::npos) return std::nullopt;
  const std::vector<std::string> words = split(stat.substr(bracket + 2), ' ');
  if (words.size() < 22) return std::nullopt;
  const auto number = [&words](size_t at) {  // counted from the state, as proc(5) does from 3
    double value = 0;
    scan_number(words[at - 3], value);
    return value;
  };
  ProcessUse use;
  use.user = (number(14) + number(16)) / ticks_per_second();
  use.system = (number(15) + number(17)) / ticks_per_second();
  use.resident = number(24) * page;
  for (const std::string& line : split(text_of(folder + "/io"), '\n')) {
    double bytes = 0;
    if (line.rfind("read_bytes: ", 0) == 0 && scan_number(line.substr(12), bytes) > 0) {
      use.read = bytes;
    }
    if (line.rfind("write_bytes: ", 0) == 0 && scan_number(line.substr(13), bytes) > 0) {
      use.written = bytes;
    }
  }
  return use;
}

}  // namespace

Values read_worker_groups(const std::vector<std::string>& folders) {
  Values values;
  for (const std::string& folder : folders) {
    read_v1(values, folder);
    read_v2(values, folder);
  }
  return values;
}

void add_process_values(const std::vector<int64_t>& pids, Values& values) {
  ProcessUse sum;
  double processes = 0;
  for (const int64_t pid : pids) {
    const std::optional<ProcessUse> use = use_of(pid);
    if (!use) continue;
    ++processes;
    sum.user += use->user;
    sum.system += use->system;
    sum.resident += use->resident;
    // A sum that lacks one is no sum.
    if (processes == 1) {
      sum.read = use->read;
      sum.written = use->written;
    } else {
      sum.read = sum.read && use->read ? std::optional(*sum.read + *use->read) : std::nullopt;
      sum.written = sum.written && use->written ? std::optional(*sum.written + *use->written)
                                                : std::nullopt;
    }
  }
  if (processes == 0) return;
  // insert() leaves what a group has told.
  values.insert({{"processes", processes}, {"memory_resident_bytes", sum.resident}});
  if (values.count("cpu_seconds") == 0) {
    values.insert({{"cpu_seconds", sum.user + sum.system},
                   {"cpu_user_seconds", sum.user},
                   {"cpu_system_seconds", sum.system}});
  }
  if (sum.read) values.insert({"read_bytes", *sum.read});
  if (sum.written) values.insert({"written_bytes", *sum.written});
}

void add_device_values(const std::vector<int64_t>& pids, const std::vector<DeviceProcess>& holders,
                       Values& values) {
  std::optional<double> memory = 0;
  std::optional<double> busy = 0;
  bool holds = false;
  for (const DeviceProcess& one : holders) {
    if (std::find(pids.begin(), pids.end(), one.pid) == pids.end()) continue;
    holds = true;
    memory = memory && one.memory ? std::optional(*memory + static_cast<double>(one.memory->count))
                                  : std::nullopt;
    busy = busy && one.busy ? std::optional(*busy + *one.busy) : std::nullopt;
  }
  if (!holds) return;
  if (memory) values["device_memory_bytes"] = *memory;
  if (busy) values["devices_busy"] = *busy;
}

Result<std::vector<Reading>> WorkerReadings::read() {
  std::vector<Reading> readings;
  std::optional<std::vector<DeviceProcess>> holders;
  for (const std::string& name : SysfsTree().names(folder_)) {
    if (!parse_worker_key(name).ok() || process::exists(folder_ + "/" + name + "/end")) continue;
    const auto running =
        process::read_record<process::RunningRecord>(folder_ + "/" + name + "/running");
    if (!running.ok() || !process::is_alive(running->shim)) continue;
    Reading worker{{SubjectKind::kWorker, name}, read_worker_groups(running->cgroups)};
    std::vector<int64_t> pids = process::WorkerCgroup(running->cgroups).members();
    if (pids.empty()) pids = process::descendants(running->shim.pid);
    add_process_values(pids, worker.values);
    if (!holders) holders = holders_ ? holders_() : std::vector<DeviceProcess>{};
    add_device_values(pids, *holders, worker.values);
    readings.push_back(std::move(worker));
  }
  return readings;
}

}  // namespace keiko
