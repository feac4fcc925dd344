// Finds every process of a worker, forks of forks and daemons included, and signals them.
//
// While the shim lives, two sources are exact: its descendants (it is a subreaper, so nobody leaves
// the tree by double fork or setsid) and the worker's cgroup. After the shim was killed the tree is
// torn; then the cgroup, the program's session and the worker's socket in the environment tell.
// A process is pinned by a pidfd and looked at again before it is signalled, so that a pid that was
// given to somebody else in between is never hit. Used by shim and agent; no threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "drivers/substrate/process/cgroup.h"
#include "drivers/substrate/process/records.h"

namespace keiko::process {

struct WorkerScope {
  WorkerCgroup cgroup;
  int64_t tree_root = 0;     ///< the shim, if it lives; not part of the worker itself
  /// For a dead shim: the program, leader of the worker's first session ...
  ProcessIdentity program;
  /// ... and "KEIKO_SOCKET=<path>", which no other worker has; empty: unknown.
  std::string env_mark;
  int64_t since_ticks = 0;   ///< nothing older than this is the worker's
};

/// RETURNS: the living processes of the worker.
std::vector<int64_t> find_members(const WorkerScope& scope);

/// RETURNS: those with a thread that waits in the kernel where no signal reaches it (state D), by
/// the files below `proc_root`. A process whose first thread is dead already is one of them if
/// another thread of it waits.
std::vector<int64_t> find_hanging(const WorkerScope& scope, const std::string& proc_root);

/// Sends `signal` to all of them. RETURNS: how many there were.
size_t signal_members(const WorkerScope& scope, int signal);

/// Processes that were found and are not gone yet: start time by pid. One that dies gives its
/// memory back first, and its environment with it: nobody would know it as the worker's any more,
/// while it still holds files, ports and devices.
using DyingProcesses = std::map<int64_t, int64_t>;

/// Kills until nothing is left, for `rounds` rounds of a millisecond. `dying` goes from one call to
/// the next. RETURNS: whether nothing is left.
bool kill_members(const WorkerScope& scope, int rounds, DyingProcesses& dying);

}  // namespace keiko::process
