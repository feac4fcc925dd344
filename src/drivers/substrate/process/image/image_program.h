// The way from a shim's fork to a program in an image: between them, for a moment, a helper that
// sets the stage and calls the runtime. In its place become_program() runs plain programs.
//
//   shim --fork--> helper --> runc create, then runc start; both end
//     '-- keiko-init (process 1 inside, the shim's by adoption) --fork--> the program
//
// The shim is a subreaper, so it gets keiko-init when the runtime ends, and its exit status with
// it. What the program itself ended by comes through a pipe, as process 1 cannot die of a signal.
#pragma once

#include "drivers/substrate/process/cgroup.h"
#include "drivers/substrate/process/program.h"
#include "drivers/substrate/process/records.h"

namespace keiko::process {

/// One line more on the status pipe: the process number of keiko-init.
constexpr char kStatusPid = 'p';

/// Never returns: the program runs in a container, or the reason is told on the status pipe.
/// `end`: the pipe by which keiko-init says how the program ended.
[[noreturn]] void become_image_helper(const LaunchRecord& launch, const WorkerCgroup& cgroup,
                                      const ProgramFds& fds, int end);

}  // namespace keiko::process
