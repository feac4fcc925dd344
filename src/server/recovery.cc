// Reads in pages, so that a long journal needs no second copy in memory.
#include "server/recovery.h"

#include "base/log.h"

namespace keiko::server {
namespace {

constexpr size_t kPage = 4096;

Error at_record(uint64_t sequence, Error error) {
  const bool newer = error.code == Code::kUnimplemented;
  error.message = "journal record " + std::to_string(sequence) + ": " + error.message +
                  (newer ? "; start the newer keiko that wrote it"
                         : "; keep the state directory and report this as a bug");
  if (!newer) error.code = Code::kDataLoss;
  return error;
}

Done apply_record(State& state, const JournalRecord& record) {
  const Result<StateEvent> event = decode_event(record.bytes);
  if (!event.ok()) return at_record(record.sequence, event.error());
  const Done applied = apply(state, *event);
  if (!applied.ok()) return at_record(record.sequence, applied.error());
  return done();
}

/// Applies what stands in the journal after `out`.
Done read_on(Journal& journal, Replayed& out) {
  while (true) {
    const std::vector<JournalRecord> page = TRY(journal.read(out.last_sequence + 1, kPage));
    if (page.empty()) return done();
    for (const JournalRecord& record : page) {
      TRY(apply_record(out.state, record));
      out.last_sequence = record.sequence;
      ++out.records_since_snapshot;
    }
  }
}

}  // namespace

Result<Replayed> replay(Journal& journal) {
  Replayed out;
  const std::optional<JournalSnapshot> snapshot = TRY(journal.latest_snapshot());
  if (snapshot) {
    out.state = TRY(decode_state(snapshot->bytes));
    out.last_sequence = snapshot->sequence;
  }
  TRY(read_on(journal, out));
  return out;
}

Result<Recovery> recover(Journal& journal) {
  Recovery recovery;
  // Read before the first write: a journal that is damaged or a newer program's stays as it is.
  recovery.replayed = TRY(replay(journal));
  recovery.term = TRY(journal.acquire());
  // Another writer may have gone on meanwhile; from here on nobody does.
  const Done caught_up = read_on(journal, recovery.replayed);
  if (!caught_up.ok() && caught_up.error().code != Code::kOutOfRange) return caught_up.error();
  if (!caught_up.ok()) recovery.replayed = TRY(replay(journal));  // it has stored a snapshot
  const Replayed& replayed = recovery.replayed;
  log_info("journal_replayed", "term=" + std::to_string(recovery.term.number) +
                                   " sequence=" + std::to_string(replayed.last_sequence) +
                                   " records=" + std::to_string(replayed.records_since_snapshot) +
                                   " jobs=" + std::to_string(replayed.state.jobs.size()) +
                                   " nodes=" + std::to_string(replayed.state.nodes.size()) +
                                   " digest=" + to_text(digest_of(replayed.state)));
  return recovery;
}

}  // namespace keiko::server
