// A journal in one file, to be carried elsewhere: what `keiko journal dump` writes and `keiko sim
// replay` reads. Any journal driver can be dumped; a dump replays without one.
//
//   "keiko dump 1\n"  varint sequence of the snapshot (0: none)  text snapshot
//   varint term, text record ... until the end; text = varint length, bytes
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/state/event.h"

namespace keiko {

struct DumpedRecord {
  uint64_t term = 0;
  std::string bytes;  ///< as encode_event() wrote it
  friend bool operator==(const DumpedRecord&, const DumpedRecord&) = default;
};

struct JournalDump {
  uint64_t snapshot_sequence = 0;  ///< 0: the records begin with the first
  std::string snapshot;            ///< as encode_state() wrote it
  std::vector<DumpedRecord> records;
  friend bool operator==(const JournalDump&, const JournalDump&) = default;
};

/// Writes in pieces, so that a journal larger than memory can be dumped.
std::string encode_dump_head(uint64_t snapshot_sequence, std::string_view snapshot);
std::string encode_dump_record(uint64_t term, std::string_view record);

/// RETURNS: kInvalidArgument if the file is no dump or of another version, kDataLoss with the
/// record's number if it is cut off.
Result<JournalDump> decode_dump(std::string_view bytes);

/// RETURNS: the state that the dump replays to; kDataLoss naming the record that cannot be.
/// `seen(sequence, event)` is called after each record was applied.
template <class Seen>
Result<State> replay_dump(const JournalDump& dump, Seen&& seen);

/// One step of it: RETURNS: the event of record `sequence`, applied to `state`.
Result<StateEvent> replay_record(State& state, uint64_t sequence, const DumpedRecord& record);

template <class Seen>
Result<State> replay_dump(const JournalDump& dump, Seen&& seen) {
  State state;
  if (dump.snapshot_sequence > 0) state = TRY(decode_state(dump.snapshot));
  uint64_t sequence = dump.snapshot_sequence;
  for (const DumpedRecord& record : dump.records) {
    const StateEvent event = TRY(replay_record(state, ++sequence, record));
    seen(sequence, event);
  }
  return state;
}

}  // namespace keiko
