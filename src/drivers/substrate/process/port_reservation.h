// Reserves TCP ports of this machine among all agents and workers of one user.
//
// A reservation is a flock on the file <dir>/<port>. The lock belongs to the open file, so the
// agent hands it on by letting the worker's shim inherit the descriptor: it is held until the last
// holder is gone, however that happens, and there is nothing to clean up. A port is handed out
// only if nobody is bound to it, and it is left unbound for the worker. Called from one thread;
// any number of processes at a time.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "drivers/substrate/process/files.h"

namespace keiko::process {

struct PortRange {
  int32_t first = 0;
  int32_t last = 0;  ///< inclusive
  friend bool operator==(const PortRange&, const PortRange&) = default;
};

/// RETURNS: the larger part of `wanted` that lies outside the ephemeral range ("32768\t60999"), or
/// all of it if none does: then a reservation is only as good as its probe.
PortRange outside_ephemeral(PortRange wanted, const std::string& ephemeral);

struct PortLock {
  int32_t port = 0;
  Fd lock;  ///< held as long as this or a copy of it is open
};

/// Reserves a port, looking from a place in the range that `seed` picks, so agents rarely meet.
/// RETURNS: kResourceExhausted if every port is taken.
Result<PortLock> reserve_free_port(const std::string& dir, PortRange range, uint64_t seed);

/// RETURNS: whether a worker could bind it now on every address, IPv4 and IPv6.
bool is_port_free(int32_t port);

}  // namespace keiko::process
