#include "drivers/journal/sqlite/sqlite_journal.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <unistd.h>

#include "drivers/journal/sqlite/batch.h"
#include "drivers/journal/sqlite/process_lock.h"
#include "drivers/sqlite/database.h"

namespace keiko {
namespace {

using sqlite::Database;
using sqlite::ProcessLock;
using sqlite::Statement;
using sqlite::Table;

constexpr Table kTables[] = {
    {"fence",
     "CREATE TABLE fence(id INTEGER PRIMARY KEY, term INTEGER NOT NULL, pid INTEGER NOT NULL)"},
    {"batches",
     "CREATE TABLE batches(first INTEGER PRIMARY KEY, count INTEGER NOT NULL, "
     "term INTEGER NOT NULL, body BLOB NOT NULL)"},
    {"snapshots",
     "CREATE TABLE snapshots(sequence INTEGER PRIMARY KEY, term INTEGER NOT NULL, "
     "checksum INTEGER NOT NULL, body BLOB NOT NULL)"},
};

sqlite::DatabaseOptions file_of(const SqliteJournalOptions& options) {
  sqlite::DatabaseOptions file;
  file.directory = options.directory;
  file.file = "journal.db";
  file.content = "a journal of Keiko";
  file.remedy = "restore the state directory from a backup";
  file.application_id = 0x4b65696b;  // "Keik"
  file.tables = kTables;
  file.first_rows = "INSERT INTO fence VALUES(1, 0, 0)";
  file.checkpoint_pages = options.checkpoint_pages;
  file.busy_timeout = options.busy_timeout;
  file.max_size = options.max_size;
  return file;
}

/// SQLite refuses a row beyond 1,000,000,000 bytes; this leaves room for the frames.
constexpr size_t kMaxBodySize = 900'000'000;

class SqliteJournalDriver : public Journal {
 public:
  SqliteJournalDriver(SqliteJournalOptions options, std::unique_ptr<Database> database)
      : options_(std::move(options)), database_(std::move(database)) {}

  Done prepare();

  Result<Term> acquire() override;
  Done append(std::span<const std::string> records) override;
  Result<std::vector<JournalRecord>> read(uint64_t from, size_t max_records) override;
  Done snapshot(uint64_t upto_sequence, std::string_view bytes) override;
  Result<std::optional<JournalSnapshot>> latest_snapshot() override;

 private:
  Done transaction(Statement& begin, const std::function<Done()>& work);
  Done check_writable(const char* what) const;
  Done check_fence(const char* what);
  Done take_term();
  Result<uint64_t> snapshot_sequence();
  Result<uint64_t> last_sequence();
  Done collect(uint64_t from, size_t max_records, std::vector<JournalRecord>& out);
  Error name_place(Error error) const;

  const SqliteJournalOptions options_;
  ProcessLock lock_;
  std::unique_ptr<Database> database_;  // before the statements, which must go first
  Term term_;                           // 0 until acquire()
  uint64_t last_ = 0;                   // sequence of the last record; known while the term holds

  Statement begin_read_, begin_write_, commit_, fence_, set_fence_, insert_, newest_, from_;
  Statement snapshot_sequence_, snapshot_, insert_snapshot_, drop_snapshots_, drop_batches_;
};

Done SqliteJournalDriver::prepare() {
  const std::pair<Statement*, std::string_view> statements[] = {
      {&begin_read_, "BEGIN"},
      {&begin_write_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&fence_, "SELECT term, pid FROM fence WHERE id=1"},
      {&set_fence_, "UPDATE fence SET term=?1, pid=?2 WHERE id=1"},
      {&insert_, "INSERT INTO batches VALUES(?1, ?2, ?3, ?4)"},
      {&newest_, "SELECT first, count, term, body FROM batches ORDER BY first DESC LIMIT 1"},
      {&from_,
       "SELECT first, count, term, body FROM batches WHERE first >= "
       "coalesce((SELECT max(first) FROM batches WHERE first <= ?1), 0) ORDER BY first"},
      {&snapshot_sequence_, "SELECT coalesce(max(sequence), 0) FROM snapshots"},
      {&snapshot_,
       "SELECT sequence, term, checksum, body FROM snapshots ORDER BY sequence DESC LIMIT 1"},
      {&insert_snapshot_, "INSERT OR REPLACE INTO snapshots VALUES(?1, ?2, ?3, ?4)"},
      {&drop_snapshots_, "DELETE FROM snapshots WHERE sequence < ?1"},
      {&drop_batches_, "DELETE FROM batches WHERE first <= ?1 AND first + count <= ?1 + 1"},
  };
  for (const auto& [statement, sql] : statements) *statement = TRY(database_->prepare(sql));
  return done();
}

/// Runs `work` between `begin` and a commit; whatever fails leaves nothing behind.
Done SqliteJournalDriver::transaction(Statement& begin, const std::function<Done()>& work) {
  TRY(begin.run());
  Done result = work();
  if (result.ok()) {
    result = commit_.run();
    // A commit that failed for want of room wrote no commit mark. After any other failure the mark
    // may have reached the disk, so this connection must not write over it.
    const bool clean = result.ok() || result.error().code == Code::kResourceExhausted;
    if (!clean) database_->mark_uncertain();
  }
  if (!result.ok()) database_->roll_back();
  return result;
}

Done SqliteJournalDriver::check_writable(const char* what) const {
  if (database_->uncertain()) {
    return unavailable(database_->path() + ": " + what + ": the disk left an earlier write " +
                       "unconfirmed; check the disk and start again");
  }
  if (term_ != Term{}) return done();
  return failed_precondition(std::string(what) + ": acquire() the journal first");
}

Done SqliteJournalDriver::check_fence(const char* what) {
  if (!TRY(fence_.step())) {
    return name_place(data_loss("the fence of the journal is missing"));
  }
  const Term newest{fence_.number(0)};
  const uint64_t pid = fence_.number(1);
  fence_.reset();
  if (newest == term_) return done();
  return Error{Code::kAborted,
               std::string(what) + ": term " + std::to_string(term_.number) +
                   " was fenced by term " + std::to_string(newest.number) + " of process " +
                   std::to_string(pid) + "; another writer took over, stop this one",
               {}};
}

Error SqliteJournalDriver::name_place(Error error) const {
  if (error.message.find(database_->path()) != std::string::npos) return error;
  error.message += " in " + database_->path() + "; restore the state directory from a backup";
  return error;
}

Result<Term> SqliteJournalDriver::acquire() {
  if (database_->uncertain()) return check_writable("acquire").error();
  const Done locked = lock_.take(options_.directory);
  const bool held = !locked.ok() && locked.error().code == Code::kFailedPrecondition;
  if (!locked.ok() && !(held && options_.take_over)) return locked.error();
  TRY(transaction(begin_write_, [this] { return take_term(); }));
  // The new term moves into the database at once, so that even a lost log cannot bring it back.
  // A reader may be in the way; then it moves with the next checkpoint.
  const Done moved = database_->run("PRAGMA wal_checkpoint(PASSIVE)");
  if (!moved.ok() && database_->uncertain()) return moved.error();
  return term_;
}

Done SqliteJournalDriver::take_term() {
  if (!TRY(fence_.step())) return name_place(data_loss("the fence of the journal is missing"));
  const Term next{fence_.number(0) + 1};
  fence_.reset();
  last_ = TRY(last_sequence());
  TRY(set_fence_.bind(1, next.number).bind(2, static_cast<uint64_t>(getpid())).run());
  term_ = next;
  return done();
}

Done SqliteJournalDriver::append(std::span<const std::string> records) {
  TRY(check_writable("append"));
  const std::string body = sqlite::encode_batch(last_ + 1, term_, records);
  if (body.size() > kMaxBodySize) {
    return invalid_argument("append: a batch of " + std::to_string(body.size()) +
                            " bytes is beyond the journal's " + std::to_string(kMaxBodySize) +
                            "; append it in parts");
  }
  const auto insert = [&]() -> Done {
    TRY(check_fence("append"));
    if (records.empty()) return done();
    insert_.bind(1, last_ + 1).bind(2, records.size()).bind(3, term_.number).bind(4, body);
    return insert_.run();
  };
  TRY(transaction(begin_write_, insert));
  last_ += records.size();
  return done();
}

/// RETURNS: the records of the row that from_ or newest_ stands on.
Result<std::vector<JournalRecord>> decode_row(const Statement& row) {
  const uint64_t first = row.number(0);
  const uint64_t count = row.number(1);
  const std::string_view body = row.bytes(3);
  // Each record takes 5 bytes at least, so a damaged count cannot make us count for ever.
  if (first == 0 || count == 0 || count > body.size()) {
    return data_loss("record " + std::to_string(first) + " stands in a damaged batch");
  }
  return sqlite::decode_batch(first, count, Term{row.number(2)}, body);
}

Result<uint64_t> SqliteJournalDriver::snapshot_sequence() {
  TRY(snapshot_sequence_.step());
  const uint64_t sequence = snapshot_sequence_.number(0);
  snapshot_sequence_.reset();
  return sequence;
}

/// RETURNS: the sequence of the last record, after proving that its batch is sound: nothing is
/// appended behind damage.
Result<uint64_t> SqliteJournalDriver::last_sequence() {
  const uint64_t snapshot = TRY(snapshot_sequence());
  if (!TRY(newest_.step())) return snapshot;
  auto records = decode_row(newest_);
  newest_.reset();
  if (!records.ok()) return name_place(std::move(records).error());
  return std::max(snapshot, records->back().sequence);
}

Result<std::vector<JournalRecord>> SqliteJournalDriver::read(uint64_t from, size_t max_records) {
  CHECK(from >= 1);
  std::vector<JournalRecord> out;
  const Done collected = transaction(begin_read_, [&]() -> Done {
    const uint64_t snapshot = TRY(snapshot_sequence());
    if (from <= snapshot) {
      return Error{Code::kOutOfRange,
                   "records up to " + std::to_string(snapshot) + " were replaced by a snapshot; "
                       "load the snapshot and read from " + std::to_string(snapshot + 1),
                   {}};
    }
    const Done result = collect(from, max_records, out);
    from_.reset();
    // What is sound comes first; the damage is reported by the read that starts at it.
    return out.empty() ? result : done();
  });
  if (!collected.ok()) return name_place(collected.error());
  return out;
}

Done SqliteJournalDriver::collect(uint64_t from, size_t max_records,
                                  std::vector<JournalRecord>& out) {
  from_.bind(1, from);
  uint64_t expected = 0;  // where the next batch must begin, once one was seen
  while (out.size() < max_records && TRY(from_.step())) {
    const uint64_t first = from_.number(0);
    // Damage may also bring a row twice or out of order, so each must begin where the last ended.
    const bool follows = expected == 0 ? first <= from : first == expected;
    if (!follows) {
      return data_loss("record " + std::to_string(std::max(expected, from)) +
                       " is missing; record " + std::to_string(first) + " stands in its place");
    }
    std::vector<JournalRecord> batch = TRY(decode_row(from_));
    for (JournalRecord& record : batch) {
      expected = record.sequence + 1;
      if (record.sequence < from) continue;
      out.push_back(std::move(record));
      if (out.size() == max_records) return done();
    }
  }
  return done();
}

Done SqliteJournalDriver::snapshot(uint64_t upto_sequence, std::string_view bytes) {
  TRY(check_writable("snapshot"));
  if (bytes.size() > kMaxBodySize) {
    return invalid_argument("a snapshot of " + std::to_string(bytes.size()) +
                            " bytes is beyond the journal's " + std::to_string(kMaxBodySize));
  }
  return transaction(begin_write_, [&]() -> Done {
    TRY(check_fence("snapshot"));
    const uint64_t present = TRY(snapshot_sequence());
    if (upto_sequence > last_ || upto_sequence < present) {
      return invalid_argument("a snapshot at " + std::to_string(upto_sequence) +
                              " must lie between the present one (" + std::to_string(present) +
                              ") and the last record (" + std::to_string(last_) + ")");
    }
    TRY(insert_snapshot_.bind(1, upto_sequence)
            .bind(2, term_.number)
            .bind(3, sqlite::record_checksum(upto_sequence, term_, bytes))
            .bind(4, bytes)
            .run());
    TRY(drop_snapshots_.bind(1, upto_sequence).run());
    return drop_batches_.bind(1, upto_sequence).run();
  });
}

Result<std::optional<JournalSnapshot>> SqliteJournalDriver::latest_snapshot() {
  if (!TRY(snapshot_.step())) return std::optional<JournalSnapshot>();
  JournalSnapshot snapshot{snapshot_.number(0), Term{snapshot_.number(1)},
                           std::string(snapshot_.bytes(3))};
  const uint64_t checksum = snapshot_.number(2);
  snapshot_.reset();
  if (checksum != sqlite::record_checksum(snapshot.sequence, snapshot.term, snapshot.bytes)) {
    return name_place(data_loss("the snapshot at record " + std::to_string(snapshot.sequence) +
                                " does not match its checksum"));
  }
  return std::optional<JournalSnapshot>(std::move(snapshot));
}

}  // namespace

Result<std::unique_ptr<Journal>> open_sqlite_journal(const SqliteJournalOptions& options) {
  auto database = TRY(Database::open(file_of(options)));
  auto journal = std::make_unique<SqliteJournalDriver>(options, std::move(database));
  TRY(journal->prepare());
  return std::unique_ptr<Journal>(std::move(journal));
}

}  // namespace keiko
