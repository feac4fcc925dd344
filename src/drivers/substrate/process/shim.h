// The shim: one tiny parent per worker. It outlives the agent, keeps the worker's exit status, and
// leaves nothing of the worker behind.
//
//   agent --posix_spawn--> shim --fork--> program --> its forks
//                          |  \__ log pipes __/  \__ orphans come back to the shim (subreaper)
//                          '--> folder: lock, running, end
//
// The agent talks to it by one queued signal, request_signal(), whose value is the signal to pass
// on to all of the worker. Queued signals are kept by the kernel until the shim reads them, so
// that one sent before the program runs is not lost, and a pidfd makes sure that it reaches this
// shim. The file needs base/ only and starts in about a millisecond.
#pragma once

#include <csignal>
#include <string>

namespace keiko {

/// Body of `keiko shim FOLDER`: runs the worker that the folder describes until nothing of it is
/// left. REQUIRES: called from main() before any thread. RETURNS: the exit status of the shim
/// itself, 0 if the end was recorded.
int shim_main(const std::string& folder);

namespace process {

inline int request_signal() { return SIGRTMIN + 1; }

/// The descriptors at which a shim finds the lock of its folder and, if there is one, of its port.
constexpr int kFolderLockFd = 3;
constexpr int kPortLockFd = 4;

}  // namespace process
}  // namespace keiko
