// Options of the agent. apps/ fills them from flags; tests from code.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/bytes.h"
#include "base/time.h"
#include "core/health/checks/check_plan.h"
#include "core/logship/node_retention.h"

namespace keiko::agent {

struct AgentOptions {
  /// "host:port" of the server to join.
  std::string server;
  /// Unique in the cluster, a DNS label; empty: the host's name made a label.
  std::string name;
  /// Where other nodes reach this one's workers; empty: the address that this machine uses to talk
  /// to the server.
  std::string address;
  /// What workers may use, in thousandths of a core; 0: every core that this process may use.
  int64_t cpu_milli = 0;
  /// What workers may use; 0: all of the machine's memory.
  Bytes memory;
  /// "zone", "rack" and the operator's own; jobs may ask for them.
  std::map<std::string, std::string> labels;
  /// Shown to clients.
  std::string version;
  /// What runs workers in images here, "runc 1.1.5"; empty: nothing does.
  std::string image_runtime;
  /// ... and why not: a phrase that clients are shown.
  std::string image_trouble;
  /// What every worker's environment starts from, see base_environment().
  std::map<std::string, std::string> base_env;
  /// Ties a worker with cpu slots to those slots' cores. Off by default: on a laptop other programs
  /// want the cores too, and several agents on one machine would choose the same ones.
  bool pin_cpu_slots = false;
  /// Ties a worker with accelerators to cores of their NUMA nodes: its fair share of them, or as
  /// many as it asks for if that is more. It does nothing on machines with one NUMA node.
  bool bind_near_devices = true;
  /// Pause before the server is dialled again; doubles up to the second.
  Duration redial_first = milliseconds(100);
  Duration redial_most = seconds(2);
  /// What workers of an earlier agent get between SIGTERM and SIGKILL when the agent stops together
  /// with them; its own get their job's grace.
  Duration leave_grace = seconds(30);
  /// How long a worker's end waits, before the server is told, until the server has its output for
  /// good. Longer only delays what follows the end: the output is shipped afterwards, too.
  Duration log_flush = seconds(1);
  /// What the node keeps of output that the server has.
  logship::NodeRetentionOptions logs = {};
  /// With less room than this on the state folder's disk the node takes no work, and what it keeps
  /// of ended workers goes early; 0: never. It takes work again at half as much more. A disk below
  /// sixteen times of this has no floor.
  Bytes disk_floor = mebibytes(64);
  /// Which checks are made when.
  health::CheckOptions checks;
  /// Messages of the server that may wait for the loop. Beyond it the stream is given up, since the
  /// next session repeats all that still matters.
  size_t queue_limit = 10'000;
};

}  // namespace keiko::agent
