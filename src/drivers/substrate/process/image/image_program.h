// The way from a shim's fork to a program in an image: between them, for a moment, a helper that
// sets the stage and calls the runtime. In its place become_program() runs plain programs.
//
//   shim --fork--> helper --> runc create, then runc start; both end
//     '-- keiko-init (process 1 inside, the shim's by adoption) --fork--> the program
//
// The shim is a subreaper, so it gets keiko-init when the runtime ends, and its exit status with
// it. What the program itself ended by comes through a pipe, as process 1 cannot die of a signal.
#pragma once

#include <map>
#include <string>

#include "drivers/substrate/process/cgroup.h"
#include "drivers/substrate/process/program.h"
#include "drivers/substrate/process/records.h"

namespace keiko::process {

/// More lines on the status pipe: a variable of the image, and the process number of keiko-init.
constexpr char kStatusEnv = 'e';
constexpr char kStatusPid = 'p';

/// Never returns: the program runs in a container, or the reason is told on the status pipe.
/// `end`: the pipe by which keiko-init says how the program ended.
[[noreturn]] void become_image_helper(const LaunchRecord& launch, const WorkerCgroup& cgroup,
                                      const ProgramFds& fds, int end);

/// RETURNS: the environment of a program in an image: the worker's own, below it what the image
/// itself says (`of_image`), below that a PATH and a HOME.
std::map<std::string, std::string> image_environment(
    const LaunchRecord& launch, const std::map<std::string, std::string>& of_image);

/// Removes the groups that the runtime made for a worker's start; whoever is left in them is
/// killed.
void remove_runtime_groups(const LaunchRecord& launch);

}  // namespace keiko::process
