// Starting and stopping the processes of a pool. They get a session of their own, so that neither
// Ctrl-C nor the death of their supervisor reaches them, and write into a log file.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "drivers/substrate/process/proc.h"

namespace keiko::up {

/// Runs argv with our environment and `extra` ("NAME=value"). RETURNS: who it is.
Result<process::ProcessIdentity> start_process(const std::vector<std::string>& argv,
                                               const std::vector<std::string>& extra,
                                               const std::string& log_path);

/// Sends a signal to exactly that process; one that is gone is none of our business.
/// RETURNS: kPermissionDenied, naming the process, if it is another user's.
Done signal_process(const process::ProcessIdentity& identity, int number);

/// RETURNS: "by signal 9", "with exit code 1", or "" for a process that is not our child.
std::string reap_process(const process::ProcessIdentity& identity);

/// RETURNS: the last lines of a log, indented, for a message about why something did not start.
std::string last_lines(const std::string& log_path, size_t count);

/// RETURNS: the path of this program, for starting its other verbs.
std::string own_program();

}  // namespace keiko::up
