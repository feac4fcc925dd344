// FakeJournal: a journal in memory for tests and the simulator. The disk outlives the journals that
// open it, so a crash is: disk.crash(), then open another FakeJournal on the same disk. Faults are
// asked for on the disk. For one thread; deterministic; knows no clock.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>

#include "base/bytes.h"
#include "ports/journal.h"

namespace keiko {

/// How the next append goes wrong. The writer cannot know which of the two it was: the append
/// returns kUnavailable and its journal refuses to write again.
enum class AppendFault {
  kTorn,  // the batch is cut off on its way: after the crash none of it is there
  kKept,  // the batch reached the disk, only the answer was lost
};

/// What is on the platter, and the switches that break it. Copyable: a copy is another disk.
class FakeJournalDisk {
 public:
  void fail_next_append(AppendFault fault) { append_fault_ = fault; }

  /// The machine loses power: every journal that is open now answers kUnavailable from here on.
  void crash() { ++boots_; }

  /// Appends and snapshots that would make the disk hold more are refused; nullopt is no limit.
  void set_capacity(std::optional<Bytes> capacity) { capacity_ = capacity; }

  /// Flips bits of record `sequence`: reading it gives kDataLoss. Sequence 0 is the snapshot.
  void damage(uint64_t sequence) { damaged_.insert(sequence); }

  /// A disk that lied about its flushes: drops the newest `count` batches although they were
  /// acknowledged. No sound journal does this; it proves that a checker sees it.
  void lose_newest_batches(size_t count);

  uint64_t last_sequence() const { return first_ + records_.size() - 1; }
  Bytes used() const { return used_; }

 private:
  friend class FakeJournal;

  void push(Term term, std::span<const std::string> records);
  void drop_upto(uint64_t sequence);
  Done check_room(Bytes more, const char* what) const;

  uint64_t first_ = 1;                   // sequence of records_.front(), or of the next record
  std::deque<JournalRecord> records_;
  std::deque<uint64_t> batch_firsts_;    // where each batch begins
  std::optional<JournalSnapshot> snapshot_;
  std::set<uint64_t> damaged_;
  std::optional<AppendFault> append_fault_;
  std::optional<Bytes> capacity_;
  Bytes used_;
  Term term_;
  uint64_t boots_ = 0;
};

class FakeJournal : public Journal {
 public:
  explicit FakeJournal(std::shared_ptr<FakeJournalDisk> disk);

  Result<Term> acquire() override;
  Done append(std::span<const std::string> records) override;
  Result<std::vector<JournalRecord>> read(uint64_t from, size_t max_records) override;
  Done snapshot(uint64_t upto_sequence, std::string_view bytes) override;
  Result<std::optional<JournalSnapshot>> latest_snapshot() override;

 private:
  Done check_powered() const;
  Done check_writable(const char* what) const;
  Done append_with(AppendFault fault, std::span<const std::string> records);

  std::shared_ptr<FakeJournalDisk> disk_;
  uint64_t boot_ = 0;
  Term term_;              // 0 until acquire()
  bool uncertain_ = false; // an append ended without an answer
};

}  // namespace keiko
