// Checks that an operator wrote: executable files of a folder, run one by one. Exit 0 is OK, 1
// WARN, 2 CRIT, anything else no answer; the first line of output is the evidence.
//
// A hook runs in a process group and an environment of its own, in "/", without input. When it has
// ended, or its time is up, everything that is left of its group is killed. Safe from any thread.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/check.h"

namespace keiko::checks {

struct Hook {
  std::string name;   ///< of the file
  std::string path;
  std::string fault;  ///< why it must not be run; empty: it may
  bool of_machine = false;  ///< its name begins with "node-": once for the machine
};

/// RETURNS: the executable files of the folder by name; none if it is not there. One that others
/// than root and this user could have written has a fault. Names that begin with a dot or end with
/// '~' are none.
std::vector<Hook> find_hooks(const std::string& folder);

struct HookRun {
  std::map<std::string, std::string> environment;  ///< all that it gets
  Duration limit;
};

struct HookEnd {
  CheckVerdict verdict = CheckVerdict::kUnknown;
  std::string text;
};

/// Runs it to its end, its time limit or a stop.
HookEnd run_hook(const Hook& hook, const HookRun& run, const std::stop_token& stop);

}  // namespace keiko::checks
