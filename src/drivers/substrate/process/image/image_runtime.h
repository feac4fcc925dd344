// The runtime that makes containers, runc: where it is, whether it can be used here, and how it is
// called. It runs with an environment of ours and nothing of the agent's or the worker's.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace keiko::process {

/// RETURNS: the path of runc, empty if it is not installed.
std::string find_runtime();

/// Groups that the runtime makes for the moment of a container's start.
std::string runtime_group(const std::string& worker);  ///< as it is told: "/keiko-start-<worker>"
/// RETURNS: the folders of those that exist. `root`: where cgroups are mounted.
std::vector<std::string> runtime_groups(const std::string& root, const std::string& worker);

/// RETURNS: "<folder of this program>/keiko-init".
std::string image_init_beside_program();

/// Looks for all that running an image needs. RETURNS: "runc 1.1.5", or an Error whose message says
/// what is missing and how to get it.
Result<std::string> probe_image_runtime(const std::string& image_init);

/// What a program said and how it ended.
struct Heard {
  int status = 0;        ///< of waitpid(2)
  std::string output;    ///< standard output and error together, the first 64 KiB
};

/// Runs a trusted program to its end: cleared environment, no standard input.
/// `keep`: descriptors that it finds from number 3 on; `out`, `err`: its streams, or -1: heard.
struct RuntimeCall {
  std::vector<std::string> argv;
  std::vector<int> keep = {};
  int out = -1;
  int err = -1;
};
Result<Heard> call_runtime(const RuntimeCall& call);

}  // namespace keiko::process
