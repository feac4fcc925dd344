// CommitLog: what stands between the brain's effects and the world. Effects wait here until the
// records among them are durable; then they are handed out in their order.
//
// A full disk, in two cases:
//   commands wait among the effects -> they must hear a refusal, so the brain must not remember
//                                      them: the outcome is kRefused and the caller replays the
//                                      journal into a new brain;
//   only agents' news wait          -> they are kept (kHeld) and tried again with back-off. Report
//                                      acknowledgements are let through meanwhile: they renew
//                                      leases and stand for nothing durable, so workers run on.
// Nothing else leaves before its record is durable. For the loop thread alone.
#pragma once

#include <string>
#include <vector>

#include "core/cluster/cluster_brain.h"
#include "ports/journal.h"
#include "server/options.h"
#include "server/server_probe.h"

namespace keiko::server {

enum class CommitOutcome {
  kCommitted,  ///< `effects` are to be carried out
  kHeld,       ///< `effects` are those that may go ahead; the rest waits
  kRefused,    ///< the pending effects are dropped; the brain is ahead of the journal
  kFailed,     ///< the journal cannot be written any more: stop
};

struct Committed {
  CommitOutcome outcome = CommitOutcome::kCommitted;
  cluster::Effects effects;
  Error error;  ///< of kRefused and kFailed
};

class CommitLog {
 public:
  CommitLog(const LoopOptions& options, Journal& journal, uint64_t last_sequence,
            uint64_t records_since_snapshot, ServerProbe& probe);

  void add(cluster::Effects effects);

  /// Appends what waits, once.
  Committed commit(Time now);

  /// RETURNS: nothing, or kResourceExhausted with the reason why commands are refused now.
  Done check_accepts_commands(Time now) const;

  /// Whether the last append failed; why.
  bool is_full() const { return full_; }
  const std::string& why_full() const { return why_full_; }
  /// RETURNS: when held effects want the next try; no time if none is held.
  std::optional<Time> retry_at() const;

  /// Stores a snapshot if enough was appended since the last. RETURNS: only errors that mean: stop.
  Done snapshot_if_due(const State& state);

 private:
  Committed on_full(Time now, Error error);
  cluster::Effects take_releasable();
  void forget_pending();

  const LoopOptions options_;
  Journal& journal_;
  ServerProbe& probe_;
  cluster::Effects pending_;
  std::vector<std::string> records_;  // of the Persist effects in pending_
  bool command_pending_ = false;
  uint64_t last_sequence_;
  uint64_t records_since_snapshot_;
  int64_t bytes_since_snapshot_ = 0;
  bool full_ = false;
  std::string why_full_;
  Time retry_at_;
  Duration pause_;
};

}  // namespace keiko::server
