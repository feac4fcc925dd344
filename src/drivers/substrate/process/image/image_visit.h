// The way into a container that runs: for commands and copies that are let into a worker.
//
//   keeper --fork--> relay (waits, ends as the command does) --fork--> the command, inside
//
// A process enters a PID namespace only by its children, so there is one more on the way. For the
// keeper's child, which is single-threaded.
#pragma once

#include "drivers/substrate/process/program.h"
#include "drivers/substrate/process/records.h"

namespace keiko::process {

/// Returns in a new process, which is the worker's equal: its namespaces, groups and restrictions.
/// The caller stays behind and ends as that one ends. `worker`: a pidfd of the container's first
/// process. Exits with the reason told on `status` if it cannot.
void enter_image(int worker, const LaunchRecord& launch, const WorkerCgroup& cgroup, int status);

}  // namespace keiko::process
