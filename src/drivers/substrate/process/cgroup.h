// The cgroups of one worker: found whichever way the machine mounts them (v2, v1, or hybrid), made
// where that is allowed, and never required. What they cannot hold is told, not hidden.
//
//   v2      <root>/keiko/<name>
//   v1      <root>/<controller>/keiko/<name>, one per controller that is needed
//   hybrid  v1's, and <root>/unified/keiko/<name> to track and kill by
//
// Where the top of the tree is not ours to write, the own group of the process is tried. Groups
// live on while the agent is away. No threads of its own; one object per worker, used by one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "drivers/substrate/process/devices/device_rules.h"

namespace keiko::process {

struct CgroupLimits {
  Bytes memory;               ///< 0: none
  int64_t cpu_milli = 0;      ///< weight; 0: none
  bool cpu_ceiling = false;   ///< cpu_milli is a ceiling as well
  std::vector<int32_t> cpus;  ///< empty: any
  int64_t pids = 0;           ///< threads of all its processes; 0: none
  std::vector<DeviceRule> devices = {};  ///< what it may open, and no more; empty: anything
};

/// One mounted tree: v2 with all of its controllers, or v1 with one.
struct CgroupTree {
  std::string mount;
  std::string controller;  ///< "" for v2
  std::string own_group;   ///< this process's group in it, "/" or "/a/b"
};

/// RETURNS: the trees under `root`, the one to track processes by first; empty if there are none.
/// `own` is the text of /proc/self/cgroup.
std::vector<CgroupTree> find_cgroup_trees(const std::string& root, const std::string& own);

class WorkerCgroup {
 public:
  WorkerCgroup() = default;

  /// Makes the groups and sets the limits. Never fails: held_memory() and notes() tell what is not.
  WorkerCgroup(const std::vector<CgroupTree>& trees, const std::string& name,
               const CgroupLimits& limits);

  /// The groups that another process made.
  explicit WorkerCgroup(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  const std::vector<std::string>& folders() const { return folders_; }
  const std::vector<std::string>& notes() const { return notes_; }
  bool holds_memory() const { return held_.contains("memory"); }
  /// RETURNS: what holds the worker to its "memory", "cpu", "cores" or "threads": "cgroup v1" or
  /// "cgroup v2"; empty: no group does.
  std::string held_by(const std::string& limit) const;
  bool holds_devices() const { return devices_unheld_.empty(); }
  /// RETURNS: why device rules that were asked for do not hold; empty if they do.
  const std::string& devices_unheld() const { return devices_unheld_; }

  /// Moves the calling process in. RETURNS: false if a group would not take it.
  bool join() const;

  /// Moves another process in. RETURNS: as join().
  bool take(int64_t pid) const;

  /// Kills everything in it by one write, where the kernel can (v2 since 5.14).
  void kill() const;

  /// RETURNS: the processes in it and in the groups that they made below it.
  std::vector<int64_t> members() const;

  /// RETURNS: how many processes in it the kernel killed for want of memory.
  int64_t oom_kills() const;

  /// Removes the groups; those that are not empty stay.
  void remove() const;

 private:
  void make_in(const CgroupTree& tree, const std::string& name, const CgroupLimits& limits);
  void limit_v2(const std::string& folder, const CgroupLimits& limits);
  void limit_v1(const std::string& folder, const std::string& controller,
                const CgroupLimits& limits);
  void guard_devices(const CgroupLimits& limits);
  void note_what_is_missing(const CgroupLimits& limits);

  std::vector<std::string> folders_;
  std::vector<std::string> notes_;
  std::map<std::string, std::string> held_;  ///< limit to the version that holds it
  std::string devices_unheld_;
};

/// RETURNS: the folders of the groups called `name` that exist, the tracking one first.
std::vector<std::string> find_worker_groups(const std::vector<CgroupTree>& trees,
                                            const std::string& name);

/// Moves the calling process into <tree>/keiko/shims, so that a service manager that stops the
/// agent's group does not reach it. Best effort.
void leave_agent_cgroup(const std::vector<CgroupTree>& trees);

}  // namespace keiko::process
