#include "drivers/substrate/process/cgroup.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "drivers/substrate/process/devices/device_guard.h"
#include "drivers/substrate/process/files.h"

namespace keiko::process {
namespace {

/// The path of the own group in the tree of `controller` ("" for v2), from /proc/self/cgroup.
std::string own_group(const std::string& own, const std::string& controller) {
  for (const std::string& line : split(own, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const std::vector<std::string> listed = split(names, ',');
    const bool named = controller == "systemd"
                           ? names == "name=systemd"
                           : std::find(listed.begin(), listed.end(), controller) != listed.end();
    if (named) return line.substr(second + 1);
  }
  return "/";
}

bool make_group(const std::string& folder) {
  return mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST;
}

/// v2 hands controllers down one level at a time; what the parent lacks cannot be handed down.
void hand_down_controllers(const std::string& parent) {
  const std::string listed = read_file(parent + "/cgroup.controllers").value_or("");
  for (const std::string& name : split(trim(listed), ' ')) {
    if (name == "memory" || name == "cpu" || name == "cpuset" || name == "pids") {
      write_control(parent + "/cgroup.subtree_control", "+" + name);
    }
  }
}

/// Left alone, the group of all workers weighs as much as one single process beside it.
void weigh_group(const CgroupTree& tree, const std::string& group) {
  const int64_t cores = std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
  if (tree.controller == "cpu") {
    write_control(group + "/cpu.shares", std::to_string(std::min<int64_t>(cores * 1024, 262'144)));
  } else if (tree.controller.empty()) {
    write_control(group + "/cpu.weight", std::to_string(std::min<int64_t>(cores * 100, 10'000)));
  }
}

/// RETURNS: <tree>/keiko at the top of the tree or in the own group, empty if neither is writable.
std::string keiko_group(const CgroupTree& tree) {
  for (const std::string& above : {std::string("/"), tree.own_group}) {
    const std::string parent = tree.mount + (above == "/" ? "" : above);
    const std::string group = parent + "/keiko";
    if (!make_group(group) || access(group.c_str(), W_OK) != 0) continue;
    if (tree.controller.empty()) {
      hand_down_controllers(parent);
      hand_down_controllers(group);
    }
    weigh_group(tree, group);
    if (tree.controller == "cpuset") {
      // A new v1 cpuset is empty and takes nobody until it has both.
      for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
        const std::string inherited = read_file(parent + file).value_or("");
        write_control(group + file, trim(inherited));
      }
    }
    return group;
  }
  return {};
}

std::string cpu_list(const std::vector<int32_t>& cpus) {
  std::vector<std::string> words;
  for (const int32_t cpu : cpus) words.push_back(std::to_string(cpu));
  return join(words, ",");
}

/// Calls `visit` with a group and every group below it, the deepest first.
template <class Visit>
void for_each_group(const std::string& folder, Visit visit) {
  if (DIR* const open_folder = opendir(folder.c_str())) {
    while (const dirent* const entry = readdir(open_folder)) {
      const std::string name = entry->d_name;
      if (entry->d_type == DT_DIR && name != "." && name != "..") {
        for_each_group(folder + "/" + name, visit);
      }
    }
    closedir(open_folder);
    visit(folder);
  }
}

/// The number behind "oom_kill" in a file of the memory controller; 0 if there is none.
int64_t count_oom_kills(const std::string& text) {
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    uint64_t count = 0;
    const bool named = words.size() == 2 && words[0] == "oom_kill";
    if (named && parse_digits(words[1], count)) return static_cast<int64_t>(count);
  }
  return 0;
}

bool wants(const std::string& controller, const CgroupLimits& limits) {
  if (controller == "memory") return limits.memory.count > 0;
  if (controller == "cpu") return limits.cpu_milli > 0;
  if (controller == "cpuset") return !limits.cpus.empty();
  if (controller == "pids") return limits.pids > 0;
  if (controller == "devices") return !limits.devices.empty();
  return true;
}

constexpr const char* kV1 = "cgroup v1";
constexpr const char* kV2 = "cgroup v2";
constexpr int64_t kPeriodUs = 100'000;  // the kernel's own default period of a cpu ceiling

}  // namespace

std::vector<CgroupTree> find_cgroup_trees(const std::string& root, const std::string& own) {
  std::vector<CgroupTree> trees;
  if (root.empty()) return trees;
  if (exists(root + "/cgroup.controllers")) return {{root, "", own_group(own, "")}};
  if (exists(root + "/unified/cgroup.procs")) {
    trees.push_back({root + "/unified", "", own_group(own, "")});
  }
  // "systemd" carries no limits, but is what systemd tracks by: leaving its group is leaving it.
  for (const char* controller : {"systemd", "freezer", "memory", "cpu", "cpuset", "pids",
                                 "devices"}) {
    const std::string mount = root + "/" + controller;
    const bool tracks_only = controller == std::string_view("freezer");
    if (tracks_only && !trees.empty()) continue;
    if (exists(mount + "/cgroup.procs")) {
      trees.push_back({mount, controller, own_group(own, controller)});
    }
  }
  return trees;
}

WorkerCgroup::WorkerCgroup(const std::vector<CgroupTree>& trees, const std::string& name,
                           const CgroupLimits& limits) {
  for (const CgroupTree& tree : trees) {
    if (wants(tree.controller, limits)) make_in(tree, name, limits);
  }
  guard_devices(limits);
  note_what_is_missing(limits);
}

void WorkerCgroup::make_in(const CgroupTree& tree, const std::string& name,
                           const CgroupLimits& limits) {
  const std::string above = keiko_group(tree);
  if (above.empty()) return;
  const std::string folder = above + "/" + name;
  if (!make_group(folder)) return;
  folders_.push_back(folder);
  if (tree.controller.empty()) {
    limit_v2(folder, limits);
  } else {
    limit_v1(folder, tree.controller, limits);
  }
}

void WorkerCgroup::limit_v2(const std::string& folder, const CgroupLimits& limits) {
  const std::vector<std::string> here =
      split(trim(read_file(folder + "/cgroup.controllers").value_or("")), ' ');
  const auto has = [&](const char* name) {
    return std::find(here.begin(), here.end(), name) != here.end();
  };
  const auto set = [&](const char* limit, const char* file, const std::string& value) {
    if (write_control(folder + file, value)) held_[limit] = kV2;
  };
  if (limits.memory.count > 0 && has("memory")) {
    set("memory", "/memory.max", std::to_string(limits.memory.count));
    // A gang's rank that lost one of its processes is of no use: the whole worker goes.
    write_control(folder + "/memory.oom.group", "1");
  }
  if (limits.cpu_milli > 0 && has("cpu")) {
    const int64_t weight = std::clamp<int64_t>(limits.cpu_milli / 10, 1, 10'000);
    set("cpu", "/cpu.weight", std::to_string(weight));
    if (limits.cpu_ceiling) {
      const int64_t quota_us = limits.cpu_milli * kPeriodUs / 1000;
      held_.erase("cpu");
      set("cpu", "/cpu.max", std::to_string(quota_us) + " " + std::to_string(kPeriodUs));
    }
  }
  if (limits.pids > 0 && has("pids")) set("threads", "/pids.max", std::to_string(limits.pids));
  if (!limits.cpus.empty() && has("cpuset")) set("cores", "/cpuset.cpus", cpu_list(limits.cpus));
}

void WorkerCgroup::limit_v1(const std::string& folder, const std::string& controller,
                            const CgroupLimits& limits) {
  const auto set = [&](const char* limit, const char* file, const std::string& value) {
    const bool held = write_control(folder + file, value);
    if (held) held_[limit] = kV1;
    return held;
  };
  if (controller == "memory") {
    set("memory", "/memory.limit_in_bytes", std::to_string(limits.memory.count));
  } else if (controller == "cpu") {
    const int64_t shares = std::clamp<int64_t>(limits.cpu_milli * 1024 / 1000, 2, 262'144);
    set("cpu", "/cpu.shares", std::to_string(shares));
    if (limits.cpu_ceiling) {
      held_.erase("cpu");
      write_control(folder + "/cpu.cfs_period_us", std::to_string(kPeriodUs));
      set("cpu", "/cpu.cfs_quota_us", std::to_string(limits.cpu_milli * kPeriodUs / 1000));
    }
  } else if (controller == "pids") {
    set("threads", "/pids.max", std::to_string(limits.pids));
  } else if (controller == "cpuset") {
    const std::string above = folder.substr(0, folder.rfind('/'));
    write_control(folder + "/cpuset.mems", trim(read_file(above + "/cpuset.mems").value_or("")));
    if (!set("cores", "/cpuset.cpus", cpu_list(limits.cpus))) {
      // A cpuset without cores takes nobody; affinity still binds the worker.
      rmdir(folder.c_str());
      folders_.pop_back();
    }
  }
}

std::string WorkerCgroup::held_by(const std::string& limit) const {
  const auto found = held_.find(limit);
  return found == held_.end() ? std::string() : found->second;
}

/// The program of version 2 and the list of version 1 hold alike; a hybrid machine has the list.
void WorkerCgroup::guard_devices(const CgroupLimits& limits) {
  if (limits.devices.empty()) return;
  const std::string folder = device_group(folders_);
  if (folder.empty()) {
    devices_unheld_ = "no writable cgroup can hold device rules";
    return;
  }
  const Done held = hold_devices(folder, limits.devices);
  if (!held.ok()) devices_unheld_ = held.error().message;
}

void WorkerCgroup::note_what_is_missing(const CgroupLimits& limits) {
  if (limits.memory.count > 0 && !holds_memory()) {
    notes_.push_back("memory limit " + to_text(limits.memory) +
                     " is held per process by RLIMIT_DATA: no writable memory cgroup");
  }
  if (limits.cpu_milli > 0 && !held_.contains("cpu")) {
    notes_.push_back("cpu " + std::to_string(limits.cpu_milli) +
                     "m is not held: no writable cpu cgroup");
  }
}

bool WorkerCgroup::join() const { return take(0); }  // 0: the process that writes it

bool WorkerCgroup::take(int64_t pid) const {
  bool taken = true;
  for (const std::string& folder : folders_) {
    taken = write_control(folder + "/cgroup.procs", std::to_string(pid)) && taken;
  }
  return taken;
}

void WorkerCgroup::kill() const {
  for (const std::string& folder : folders_) {
    if (exists(folder + "/cgroup.kill")) write_control(folder + "/cgroup.kill", "1");
  }
}

std::vector<int64_t> WorkerCgroup::members() const {
  std::vector<int64_t> pids;
  for (const std::string& folder : folders_) {
    for_each_group(folder, [&](const std::string& group) {
      for (const std::string& line : split(read_file(group + "/cgroup.procs").value_or(""), '\n')) {
        uint64_t pid = 0;
        if (parse_digits(line, pid) && pid != 0) pids.push_back(static_cast<int64_t>(pid));
      }
    });
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

int64_t WorkerCgroup::oom_kills() const {
  int64_t kills = 0;
  for (const std::string& folder : folders_) {
    kills += count_oom_kills(read_file(folder + "/memory.events").value_or(""));       // v2
    kills += count_oom_kills(read_file(folder + "/memory.oom_control").value_or(""));  // v1
  }
  return kills;
}

void WorkerCgroup::remove() const {
  for (const std::string& folder : folders_) {
    for_each_group(folder, [](const std::string& group) { rmdir(group.c_str()); });
  }
}

std::vector<std::string> find_worker_groups(const std::vector<CgroupTree>& trees,
                                            const std::string& name) {
  std::vector<std::string> folders;
  for (const CgroupTree& tree : trees) {
    for (const std::string& above : {std::string("/"), tree.own_group}) {
      const std::string folder = tree.mount + (above == "/" ? "" : above) + "/keiko/" + name;
      if (!exists(folder)) continue;
      folders.push_back(folder);
      break;
    }
  }
  return folders;
}

void leave_agent_cgroup(const std::vector<CgroupTree>& trees) {
  for (const CgroupTree& tree : trees) {
    if (!tree.controller.empty() && tree.controller != "systemd") continue;
    const std::string above = keiko_group(tree);
    if (above.empty()) continue;
    const std::string folder = above + "/shims";
    if (make_group(folder)) write_control(folder + "/cgroup.procs", "0");
  }
}

}  // namespace keiko::process
