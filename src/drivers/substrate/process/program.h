// The last steps between fork and the worker's own first instruction, run in the child: session,
// cgroup, limits, affinity, streams, directory, exec. What goes wrong is told through a pipe that
// closes by itself when the exec succeeds. For the shim, which is single-threaded.
#pragma once

#include <string>

#include "drivers/substrate/process/cgroup.h"
#include "drivers/substrate/process/records.h"

namespace keiko::process {

/// One line per message on the status pipe: kind and text.
constexpr char kStatusNote = 'n';     ///< something was asked for and is not held
constexpr char kStatusFailed = 'f';   ///< the program cannot run; the text says why
constexpr char kStatusNodeFailed = 'x';  ///< ... and the node is to blame

struct ProgramFds {
  int out = -1;
  int err = -1;
  int status = -1;
};

/// Never returns: either the program runs in its place, or it reports and exits.
[[noreturn]] void become_program(const LaunchRecord& launch, const WorkerCgroup& cgroup,
                                 const ProgramFds& fds);

/// All of that up to the exec, which is left to the caller. Exits if it cannot.
void enter_worker(const LaunchRecord& launch, const WorkerCgroup& cgroup, const ProgramFds& fds);

// The steps of it, for whoever goes another way.

/// Cgroup, memory limit and affinity of the caller; what does not hold is told.
void hold_limits(const LaunchRecord& launch, const WorkerCgroup& cgroup, int status);
/// Session, streams, directory and signals. Exits if it cannot.
void take_place(const LaunchRecord& launch, const ProgramFds& fds);
[[noreturn]] void run_program(const LaunchRecord& launch, const ProgramFds& fds);

/// RETURNS: every path that `name` may mean, in the order of PATH; just `name` if it has a slash.
std::vector<std::string> candidates_in_path(const std::string& name, const std::string& path);

}  // namespace keiko::process
