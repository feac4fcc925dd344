// Starts a shim from the agent: quick for the caller however large and threaded the agent is.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace keiko::process {

/// Runs `command... folder` in a session of its own, all signals blocked, with no descriptor of the
/// agent but the two locks (port_lock -1: none), at the numbers that shim.h says. Does not copy the
/// agent's memory (posix_spawn shares it until the exec), and returns once the exec is done.
/// RETURNS: the pid, a child of the caller.
Result<pid_t> spawn_shim(const std::vector<std::string>& command, const std::string& folder,
                         int folder_lock, int port_lock);

}  // namespace keiko::process
