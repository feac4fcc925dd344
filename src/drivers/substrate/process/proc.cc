#include "drivers/substrate/process/proc.h"

#include <dirent.h>

#include <cstdlib>
#include <ctime>
#include <map>

#include "base/text.h"
#include "drivers/substrate/process/files.h"

namespace keiko::process {
namespace {

/// Calls `visit` with each numeric name in a folder of /proc.
template <class Visit>
void for_each_number(const std::string& folder, Visit visit) {
  DIR* const open_folder = opendir(folder.c_str());
  if (open_folder == nullptr) return;
  while (const dirent* const entry = readdir(open_folder)) {
    uint64_t number = 0;
    if (parse_digits(entry->d_name, number)) visit(static_cast<int64_t>(number));
  }
  closedir(open_folder);
}

/// RETURNS: false if the kernel does not list children (CONFIG_PROC_CHILDREN).
bool append_children(int64_t pid, std::vector<int64_t>& out) {
  bool listed = false;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for_each_number(tasks, [&](int64_t thread) {
    const auto text = read_file(tasks + "/" + std::to_string(thread) + "/children");
    if (!text.ok()) return;
    listed = true;
    for (const std::string& word : split(trim(*text), ' ')) {
      uint64_t child = 0;
      if (parse_digits(word, child)) out.push_back(static_cast<int64_t>(child));
    }
  });
  return listed || !read_stat(pid).has_value();
}

std::vector<int64_t> descendants_by_scan(int64_t root) {
  std::multimap<int64_t, int64_t> children;
  for (const ProcessStat& stat : all_processes()) children.emplace(stat.parent, stat.pid);
  std::vector<int64_t> found{root};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto it = begin; it != end; ++it) found.push_back(it->second);
  }
  found.erase(found.begin());
  return found;
}

}  // namespace

std::optional<ProcessStat> parse_stat(const std::string& text) {
  // "pid (name) state ppid pgrp session ... starttime ...": the name may hold anything, so the
  // last bracket ends it. The start time is field 22 of proc(5).
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields = split(std::string_view(text).substr(name_end + 2), ' ');
  constexpr size_t kFirst = 3;  // number of the first field after the name
  if (fields.size() <= 22 - kFirst || fields[0].empty()) return std::nullopt;
  ProcessStat stat;
  stat.pid = std::atoll(text.c_str());
  stat.state = fields[0][0];
  stat.parent = std::atoll(fields[4 - kFirst].c_str());
  stat.session = std::atoll(fields[6 - kFirst].c_str());
  stat.start_ticks = std::atoll(fields[22 - kFirst].c_str());
  return stat;
}

std::optional<ProcessStat> read_stat(int64_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat");
  return text.ok() ? parse_stat(*text) : std::nullopt;
}

const std::string& boot_id() {
  static const std::string id =
      std::string(trim(read_file("/proc/sys/kernel/random/boot_id").value_or("unknown")));
  return id;
}

Duration monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return {now.tv_sec * 1'000'000'000 + now.tv_nsec};
}

ProcessIdentity identify(int64_t pid) {
  const auto stat = read_stat(pid);
  if (!stat.has_value()) return {};
  return {pid, stat->start_ticks, boot_id()};
}

bool is_alive(const ProcessIdentity& identity) {
  if (identity.pid <= 0 || identity.boot_id != boot_id()) return false;
  const auto stat = read_stat(identity.pid);
  return stat.has_value() && !stat->dead() && stat->start_ticks == identity.start_ticks;
}

std::vector<int64_t> descendants(int64_t pid) {
  std::vector<int64_t> found{pid};
  for (size_t i = 0; i < found.size(); ++i) {
    if (!append_children(found[i], found)) return descendants_by_scan(pid);
  }
  std::vector<int64_t> living;
  for (size_t i = 1; i < found.size(); ++i) {
    const auto stat = read_stat(found[i]);
    if (stat.has_value() && !stat->dead()) living.push_back(found[i]);
  }
  return living;
}

std::vector<ProcessStat> all_processes() {
  std::vector<ProcessStat> processes;
  for_each_number("/proc", [&](int64_t pid) {
    const auto stat = read_stat(pid);
    if (stat.has_value() && !stat->dead()) processes.push_back(*stat);
  });
  return processes;
}

}  // namespace keiko::process
