// Journal: the socket in the wall for durable history. Records are opaque bytes in a gap-free
// sequence from 1; a snapshot stands for everything up to its sequence. What append() acknowledged
// is still there after a crash of the process or the machine.
//
// A fence guards it: acquire() hands out the next term, and only the holder of the newest term may
// write. A server that was taken for dead learns at its next append that it no longer rules.
// An instance belongs to one thread at a time. Reading needs no term.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace keiko {

/// The reign of one writer. Terms only grow; 0 is "never acquired".
struct Term {
  uint64_t number = 0;

  friend constexpr auto operator<=>(const Term&, const Term&) = default;
};

struct JournalRecord {
  uint64_t sequence = 0;
  Term term;          // of the writer that appended it
  std::string bytes;

  friend bool operator==(const JournalRecord&, const JournalRecord&) = default;
};

/// The state after record `sequence`, as opaque bytes.
struct JournalSnapshot {
  uint64_t sequence = 0;
  Term term;          // of the writer that stored it
  std::string bytes;

  friend bool operator==(const JournalSnapshot&, const JournalSnapshot&) = default;
};

class Journal {
 public:
  virtual ~Journal() = default;

  /// Becomes the writer: fences every earlier holder, in this process or another.
  /// RETURNS: the new term, larger than all before; kFailedPrecondition if another live process
  /// holds the journal (the message names it); kDataLoss if the newest records are damaged.
  virtual Result<Term> acquire() = 0;

  /// Appends all `records` or none, with the next sequence numbers; durable on return. An empty
  /// batch only asks whether the term still holds.
  /// RETURNS: kAborted if a newer term fenced this one (the writer must stop);
  /// kFailedPrecondition before acquire(); kResourceExhausted if the disk is full (nothing was
  /// written, and a later append may succeed); kDeadlineExceeded if a rival kept the store busy
  /// (nothing was written either); kUnavailable or kDataLoss if it is unknown whether the batch is
  /// durable: the instance refuses to write from then on, open another and read it.
  virtual Done append(std::span<const std::string> records) = 0;

  /// REQUIRES: from >= 1. RETURNS: at most `max_records` records with contiguous sequences from
  /// `from`, none if `from` lies beyond the end; kOutOfRange if a snapshot replaced `from`;
  /// kDataLoss, with the sequence and the place, if the bytes are not those appended.
  virtual Result<std::vector<JournalRecord>> read(uint64_t from, size_t max_records) = 0;

  /// Stores the state after `upto_sequence` durably, and in the same breath drops the records up
  /// to it and all older snapshots. RETURNS: as append(); kInvalidArgument if `upto_sequence` lies
  /// beyond the last record or before the present snapshot.
  virtual Done snapshot(uint64_t upto_sequence, std::string_view bytes) = 0;

  /// RETURNS: the newest snapshot, nothing if none was stored; kDataLoss if it is damaged.
  virtual Result<std::optional<JournalSnapshot>> latest_snapshot() = 0;
};

}  // namespace keiko
