// What the process substrate may be told. Paths of the kernel are options so that tests can move
// them; nothing here changes what a worker is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace keiko {

struct ProcessSubstrateOptions {
  /// The agent's state directory, absolute; workers/ and logs/ live in it. No default: two agents
  /// must never share one.
  std::string state_dir;

  /// What is run as `shim_command... FOLDER` for each worker. The default is this very binary, also
  /// after an upgrade has replaced the file it came from.
  std::vector<std::string> shim_command = {"/proc/self/exe", "shim"};

  /// Where cgroups are mounted; empty: use none and hold limits by other means.
  std::string cgroup_root = "/sys/fs/cgroup";

  /// Off: cpu_milli is a weight, so that a worker may use cores that nobody else wants. On: it is a
  /// ceiling as well, for machines that bill or measure by the core.
  bool cpu_ceiling = false;

  /// Threads that all processes of a worker may have together; 0: no limit. Far above what data
  /// loaders and their thread pools use, far below what makes a machine refuse logins.
  int64_t pids_limit = 16'384;

  /// On: a worker opens only its own devices, those below, and what every program needs.
  bool guard_devices = true;

  /// Device nodes, or folders of them, that every worker may open. RDMA NICs are shared by all.
  std::vector<std::string> shared_devices = {"/dev/infiniband"};

  /// Where states of processes are read; tests move it.
  std::string proc_root = "/proc";
  /// The first process of workers in images. Empty: keiko-init beside this program.
  std::string image_init;

  /// How often device rules are looked at, and mended where somebody else rewrote them.
  Duration guard_every = seconds(5);

  /// Ports for rendezvous, inclusive. Away from the ephemeral range, where any outgoing connection
  /// could take one between the reservation and the worker's bind.
  int32_t port_first = 20'000;
  int32_t port_last = 29'999;  ///< the last that is handed out

  /// Where a reservation is a locked file, shared by all agents of one user on this machine.
  /// Empty: /tmp/keiko-ports-<uid>.
  std::string port_dir;
};

}  // namespace keiko
