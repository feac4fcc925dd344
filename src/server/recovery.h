// From a journal to a state: the newest snapshot, then every record after it through the law.
#pragma once

#include "core/state/event.h"
#include "ports/journal.h"

namespace keiko::server {

/// What a journal says, and how far it goes.
struct Replayed {
  State state;
  uint64_t last_sequence = 0;
  uint64_t records_since_snapshot = 0;
};

/// RETURNS: kDataLoss if the journal is damaged or holds an event that its state refuses (the
/// message names the record), kUnimplemented if a newer version wrote it.
Result<Replayed> replay(Journal& journal);

/// What a server starts from.
struct Recovery {
  Term term;
  Replayed replayed;
};

/// Replays the journal, then becomes its writer: one that cannot be read is left as it is.
/// A clock for the server must not start before
/// `replayed.state.now`. RETURNS: the errors of Journal::acquire() and replay().
Result<Recovery> recover(Journal& journal);

}  // namespace keiko::server
