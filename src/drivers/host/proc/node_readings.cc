// Formats after proc(5) and the kernel's Documentation/accounting/psi.rst and admin-guide/iostats.
#include "drivers/host/proc/node_readings.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"

namespace keiko {
namespace {

constexpr double kSectorBytes = 512;  // in diskstats, whatever the disk's own are

/// RETURNS: the words of a line without the blanks between them.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (std::string& word : split(line, ' ')) {
    if (!word.empty()) words.push_back(std::move(word));
  }
  return words;
}

std::optional<double> number_of(const std::string& word) {
  double number = 0;
  const size_t length = scan_number(word, number);
  return length != 0 && length == word.size() ? std::optional(number) : std::nullopt;
}

/// RETURNS: 1.5 for "avg10=1.5" and the stem "avg10="; nothing for any other word.
std::optional<double> number_after(const std::string& word, const std::string& stem) {
  return word.rfind(stem, 0) == 0 ? number_of(word.substr(stem.size())) : std::nullopt;
}

double ticks_per_second() {
  static const double ticks = static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK)));
  return ticks;
}

constexpr std::array kModes = {"user", "nice", "system", "idle", "iowait", "irq", "softirq",
                               "steal"};

}  // namespace

Result<std::vector<Reading>> NodeReadings::read() {
  const std::optional<std::string> stat = tree_.text("/proc/stat");
  if (!stat) return unavailable(tree_.full("/proc/stat") + " cannot be read; is /proc mounted?");
  Reading node{{SubjectKind::kNode, ""}, {}};
  read_cores(*stat, node.values);
  read_memory(node.values);
  read_load(node.values);
  read_pressure(node.values);
  read_state_disk(node.values);
  std::vector<Reading> readings;
  readings.push_back(std::move(node));
  read_disks(readings);
  return readings;
}

void NodeReadings::read_cores(const std::string& stat, Values& values) {
  static const std::map<std::string, std::string> kOthers = {
      {"btime", "boot_time_seconds"},
      {"procs_running", "processes_running"},
      {"procs_blocked", "processes_blocked"}};
  double cores = 0;
  for (const std::string& line : split(stat, '\n')) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 2) continue;
    if (words[0] == "cpu") {
      CoreTimes times;
      for (size_t i = 0; i < kModes.size() && i + 1 < words.size(); ++i) {
        const auto ticks = number_of(words[i + 1]);
        if (!ticks) continue;
        values["cpu_" + std::string(kModes[i]) + "_seconds"] = *ticks / ticks_per_second();
        times.all += *ticks;
        times.busy += i == 3 || i == 4 ? 0 : *ticks;  // idle and iowait
      }
      if (last_ && times.all > last_->all) {
        const double ratio = (times.busy - last_->busy) / (times.all - last_->all);
        values["cpu_utilisation_ratio"] = std::clamp(ratio, 0.0, 1.0);
      }
      last_ = times;
    } else if (words[0].rfind("cpu", 0) == 0) {
      ++cores;
    } else if (const auto other = kOthers.find(words[0]); other != kOthers.end()) {
      if (const auto number = number_of(words[1])) values[other->second] = *number;
    }
  }
  if (cores > 0) values["cpus"] = cores;
}

void NodeReadings::read_memory(Values& values) const {
  static const std::map<std::string, std::string> kNames = {
      {"MemTotal:", "memory_total_bytes"},  {"MemAvailable:", "memory_available_bytes"},
      {"MemFree:", "memory_free_bytes"},    {"Cached:", "memory_cached_bytes"},
      {"Dirty:", "memory_dirty_bytes"},     {"SwapTotal:", "swap_total_bytes"},
      {"SwapFree:", "swap_free_bytes"}};
  for (const std::string& line : split(tree_.text("/proc/meminfo").value_or(""), '\n')) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() != 3 || words[2] != "kB") continue;
    const auto name = kNames.find(words[0]);
    const auto kibibytes = number_of(words[1]);
    if (name != kNames.end() && kibibytes) values[name->second] = *kibibytes * 1024;
  }
}

void NodeReadings::read_load(Values& values) const {
  const std::vector<std::string> words = words_of(tree_.text("/proc/loadavg").value_or(""));
  if (words.size() < 3) return;
  constexpr std::array kNames = {"load_1m", "load_5m", "load_15m"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (const auto load = number_of(words[i])) values[kNames[i]] = *load;
  }
}

/// "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", microseconds.
void NodeReadings::read_pressure(Values& values) const {
  for (const std::string resource : {"cpu", "memory", "io"}) {
    const std::string text = tree_.text("/proc/pressure/" + resource).value_or("");
    for (const std::string& line : split(text, '\n')) {
      const std::vector<std::string> words = words_of(line);
      if (words.size() != 5 || (words[0] != "some" && words[0] != "full")) continue;
      const std::string name = "pressure_" + resource + "_" + words[0];
      const auto percent = number_after(words[1], "avg10=");
      if (percent) values[name + "_ratio"] = *percent / 100;
      const auto us = number_after(words[4], "total=");
      if (us) values[name + "_seconds"] = *us * 1e-6;
    }
  }
}

void NodeReadings::read_state_disk(Values& values) const {
  struct statvfs disk{};
  if (state_dir_.empty() || statvfs(state_dir_.c_str(), &disk) != 0) return;
  const double block = static_cast<double>(disk.f_frsize);
  values["state_disk_size_bytes"] = block * static_cast<double>(disk.f_blocks);
  values["state_disk_free_bytes"] = block * static_cast<double>(disk.f_bavail);
}

/// Whole disks that are hardware, or look like it: no partitions, loops and mappings.
void NodeReadings::read_disks(std::vector<Reading>& readings) const {
  for (const std::string& line : split(tree_.text("/proc/diskstats").value_or(""), '\n')) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 14) continue;
    std::string folder = words[2];
    std::replace(folder.begin(), folder.end(), '/', '!');
    if (!tree_.exists("/sys/block/" + folder + "/device")) continue;
    Reading disk{{SubjectKind::kDisk, words[2]}, {}};
    const auto put = [&](const char* name, size_t word, double scale) {
      if (const auto number = number_of(words[word])) disk.values[name] = *number * scale;
    };
    put("reads", 3, 1);
    put("read_bytes", 5, kSectorBytes);
    put("writes", 7, 1);
    put("written_bytes", 9, kSectorBytes);
    put("busy_seconds", 12, 1e-3);
    readings.push_back(std::move(disk));
  }
}

}  // namespace keiko
