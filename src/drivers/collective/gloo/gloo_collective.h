// GlooCollective: the Collective port over TCP by plain libgloo.
//
// Ranks meet at rank 0's store, connect every pair (fine to about 64 ranks), then exchange slices
// directly: each rank reduces its slice of the buffer in rank order and hands it to all. That moves
// the bytes of a ring, has the same bits everywhere, and lets every rank see a dead peer itself.
// A thread per rank watches the connections, so that a death is noticed between operations too.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "ports/collective.h"

namespace keiko {

struct GlooOptions {
  int rank = 0;
  int world = 1;
  /// Where rank 0 listens; also decides the interface that all traffic of this rank takes.
  std::string master_addr = "127.0.0.1";
  int master_port = 0;
  /// Names the generation (job and attempt), so that leftovers of another one cannot join.
  std::string name = "run";
  /// From the first dial to the last connected pair: covers ranks that start later.
  Duration connect_timeout = seconds(60);
  /// How long one operation waits for a silent peer. A dead one is noticed in milliseconds.
  Duration op_timeout = seconds(60);
};

/// Connects this rank with all others; a world of one needs no socket. The process ignores SIGPIPE
/// from then on, unless it has a handler of its own.
/// RETURNS: kDeadlineExceeded naming who is missing, kInvalidArgument for an impossible rank,
/// kFailedPrecondition when the port belongs to another run.
Result<std::unique_ptr<Collective>> open_gloo_collective(const GlooOptions& options);

}  // namespace keiko
