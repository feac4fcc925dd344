#include "ports/journal_fake.h"

#include <utility>

#include "base/check.h"

namespace keiko {
namespace {

Bytes size_of(std::string_view bytes) { return {static_cast<int64_t>(bytes.size())}; }

Bytes size_of(std::span<const std::string> records) {
  Bytes sum;
  for (const std::string& record : records) sum = sum + size_of(record);
  return sum;
}

}  // namespace

void FakeJournalDisk::lose_newest_batches(size_t count) {
  for (; count > 0 && !batch_firsts_.empty(); --count) {
    while (!records_.empty() && last_sequence() >= batch_firsts_.back()) {
      used_ = used_ - size_of(records_.back().bytes);
      records_.pop_back();
    }
    batch_firsts_.pop_back();
  }
}

void FakeJournalDisk::push(Term term, std::span<const std::string> records) {
  batch_firsts_.push_back(last_sequence() + 1);
  for (const std::string& record : records) {
    records_.push_back({last_sequence() + 1, term, record});
  }
  used_ = used_ + size_of(records);
}

void FakeJournalDisk::drop_upto(uint64_t sequence) {
  for (; first_ <= sequence; ++first_) {
    used_ = used_ - size_of(records_.front().bytes);
    records_.pop_front();
    damaged_.erase(first_);
  }
  // A batch that the snapshot cuts keeps its rest; its begin moves up to it.
  while (!batch_firsts_.empty() && batch_firsts_.front() < first_) batch_firsts_.pop_front();
  if (!records_.empty() && (batch_firsts_.empty() || batch_firsts_.front() > first_)) {
    batch_firsts_.push_front(first_);
  }
}

Done FakeJournalDisk::check_room(Bytes more, const char* what) const {
  if (!capacity_ || used_ + more <= *capacity_) return done();
  return resource_exhausted(std::string(what) + ": the fake disk is full (" + to_text(*capacity_) +
                            "); make room and try again");
}

FakeJournal::FakeJournal(std::shared_ptr<FakeJournalDisk> disk)
    : disk_(std::move(disk)), boot_(disk_->boots_) {}

Done FakeJournal::check_powered() const {
  if (boot_ == disk_->boots_) return done();
  return unavailable("the machine of this journal crashed; open the journal again");
}

Done FakeJournal::check_writable(const char* what) const {
  TRY(check_powered());
  if (uncertain_) {
    return unavailable(std::string(what) +
                       ": an earlier write ended without an answer; open the journal again");
  }
  if (term_ == Term{}) {
    return failed_precondition(std::string(what) + ": acquire() the journal first");
  }
  if (term_ == disk_->term_) return done();
  return Error{Code::kAborted,
               std::string(what) + ": term " + std::to_string(term_.number) +
                   " was fenced by term " + std::to_string(disk_->term_.number) +
                   "; another writer took over, stop this one",
               {}};
}

Result<Term> FakeJournal::acquire() {
  TRY(check_powered());
  if (uncertain_) {
    return unavailable("acquire: an earlier write ended without an answer; open the journal again");
  }
  term_ = {++disk_->term_.number};
  return term_;
}

Done FakeJournal::append_with(AppendFault fault, std::span<const std::string> records) {
  disk_->append_fault_.reset();
  uncertain_ = true;
  if (fault == AppendFault::kKept) disk_->push(term_, records);
  return unavailable("append: the disk gave no answer; open the journal again and read it");
}

Done FakeJournal::append(std::span<const std::string> records) {
  TRY(check_writable("append"));
  if (records.empty()) return done();
  TRY(disk_->check_room(size_of(records), "append"));
  if (disk_->append_fault_) return append_with(*disk_->append_fault_, records);
  disk_->push(term_, records);
  return done();
}

Result<std::vector<JournalRecord>> FakeJournal::read(uint64_t from, size_t max_records) {
  CHECK(from >= 1);
  TRY(check_powered());
  if (from < disk_->first_) {
    return Error{Code::kOutOfRange,
                 "records up to " + std::to_string(disk_->first_ - 1) +
                     " were replaced by a snapshot; load the snapshot and read from " +
                     std::to_string(disk_->first_),
                 {}};
  }
  std::vector<JournalRecord> out;
  for (uint64_t sequence = from; sequence <= disk_->last_sequence(); ++sequence) {
    if (out.size() == max_records) break;
    if (disk_->damaged_.contains(sequence)) {
      if (!out.empty()) break;  // what is sound comes first, the damage with the next read
      return data_loss("record " + std::to_string(sequence) +
                       " on the fake disk does not match its checksum; restore a backup");
    }
    out.push_back(disk_->records_[sequence - disk_->first_]);
  }
  return out;
}

Done FakeJournal::snapshot(uint64_t upto_sequence, std::string_view bytes) {
  TRY(check_writable("snapshot"));
  const uint64_t present = disk_->snapshot_ ? disk_->snapshot_->sequence : 0;
  if (upto_sequence > disk_->last_sequence() || upto_sequence < present) {
    return invalid_argument("a snapshot at " + std::to_string(upto_sequence) +
                            " must lie between the present one (" + std::to_string(present) +
                            ") and the last record (" + std::to_string(disk_->last_sequence()) +
                            ")");
  }
  TRY(disk_->check_room(size_of(bytes), "snapshot"));
  if (disk_->snapshot_) disk_->used_ = disk_->used_ - size_of(disk_->snapshot_->bytes);
  disk_->snapshot_ = JournalSnapshot{upto_sequence, term_, std::string(bytes)};
  disk_->used_ = disk_->used_ + size_of(bytes);
  disk_->damaged_.erase(0);
  disk_->drop_upto(upto_sequence);
  return done();
}

Result<std::optional<JournalSnapshot>> FakeJournal::latest_snapshot() {
  TRY(check_powered());
  if (disk_->snapshot_ && disk_->damaged_.contains(0)) {
    return data_loss("the snapshot on the fake disk does not match its checksum; restore a backup");
  }
  return disk_->snapshot_;
}

}  // namespace keiko
