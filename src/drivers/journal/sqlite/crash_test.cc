// What is left after a process or a machine died in the middle of writing.
#include <fstream>
#include <set>

#include "base/prng.h"
#include "drivers/journal/sqlite/journal_harness.h"

namespace keiko {
namespace {

namespace fs = std::filesystem;

/// What record `sequence` holds in these tests; every length up to two pages occurs.
std::string record_text(uint64_t sequence) {
  return std::to_string(sequence) + std::string(splitmix64(sequence) % 8192, 'r');
}

/// How many records the batch has that begins with `first`, so that everybody knows the borders.
uint64_t batch_size(uint64_t first) { return 1 + splitmix64(first ^ 0xbeef) % 8; }

std::vector<std::string> batch_at(uint64_t first) {
  std::vector<std::string> records;
  for (uint64_t i = 0; i < batch_size(first); ++i) records.push_back(record_text(first + i));
  return records;
}

/// RETURNS: true if a batch ends with `last`.
bool is_border(uint64_t last) {
  uint64_t next = 1;
  while (next <= last) next += batch_size(next);
  return next == last + 1;
}

/// Reads everything and proves that it is what was appended, in order and in whole batches.
/// RETURNS: the last sequence.
uint64_t check_contents(Journal& journal) {
  auto snapshot = journal.latest_snapshot();
  EXPECT_TRUE(snapshot.ok());
  uint64_t next = 1;
  if (snapshot.ok() && snapshot->has_value()) {
    EXPECT_EQ((*snapshot)->bytes, "state at " + std::to_string((*snapshot)->sequence));
    next = (*snapshot)->sequence + 1;
  }
  for (;;) {
    const auto records = journal.read(next, 100);
    EXPECT_TRUE(records.ok()) << records.error().text();
    if (!records.ok() || records->empty()) break;
    for (const JournalRecord& record : *records) {
      EXPECT_EQ(record.sequence, next);
      EXPECT_EQ(record.bytes, record_text(next));
      ++next;
    }
  }
  EXPECT_TRUE(is_border(next - 1)) << "record " << next - 1 << " ends no batch";
  return next - 1;
}

/// Appends until it is killed, and reports every acknowledged sequence. Now and then a snapshot;
/// the short log makes checkpoints frequent, so that kills fall into them as well.
int append_until_killed(const std::string& directory, uint64_t next, int reports) {
  auto journal = open_sqlite_journal({.directory = directory, .checkpoint_pages = 40});
  if (!journal.ok() || !(*journal)->acquire().ok()) return 1;
  for (uint64_t batches = 1;; ++batches) {
    const auto records = batch_at(next);
    if (!(*journal)->append(records).ok()) return 2;
    next += records.size();
    report(reports, next - 1);
    const uint64_t upto = next - 2;
    if (batches % 20 == 0 && !(*journal)->snapshot(upto, "state at " + std::to_string(upto)).ok()) {
      return 3;
    }
  }
}

TEST(SqliteJournalCrash, a_killed_writer_loses_nothing_that_was_acknowledged) {
  constexpr int kKills = 40;
  constexpr uint64_t kSeed = 20240607;
  ScratchFolder folder;
  Prng prng(kSeed);
  uint64_t last = 0;
  for (int round = 0; round < kKills; ++round) {
    SCOPED_TRACE("seed=" + std::to_string(kSeed) + " round=" + std::to_string(round));
    ChildProcess writer([&](int reports) {
      return append_until_killed(folder.path(), last + 1, reports);
    });
    uint64_t acknowledged = last;
    const uint64_t appends = 1 + prng.below(40);
    for (uint64_t i = 0; i < appends; ++i) ASSERT_TRUE(writer.next_report(acknowledged));
    // A little work of random length, so that the kill falls anywhere in the next append.
    volatile uint64_t spin = prng.below(200'000);
    while (spin > 0) spin = spin - 1;
    writer.kill_and_wait();
    while (writer.next_report(acknowledged)) {
    }
    auto journal = MUST(open_sqlite_journal({.directory = folder.path()}));
    MUST(journal->acquire());
    last = check_contents(*journal);
    EXPECT_GE(last, acknowledged);
    EXPECT_LE(last, acknowledged + batch_size(acknowledged + 1));
    if (HasFailure()) return;
  }
  EXPECT_GT(last, 100u);
}

/// A journal whose history lies in the log alone, as a machine that lost power left it.
class TornTailTest : public testing::Test {
 protected:
  void SetUp() override {
    auto journal = MUST(
        open_sqlite_journal({.directory = live_.path(), .checkpoint_pages = 100'000}));
    MUST(journal->acquire());
    uint64_t next = 1;
    while (next < 100) {
      const auto records = batch_at(next);
      MUST(journal->append(records));
      next += records.size();
    }
    last_ = next - 1;
    fs::copy(live_.path(), dead_.path(), fs::copy_options::recursive);
    fs::remove(dead_.path() + "/journal.db-shm");
    log_size_ = fs::file_size(dead_.path() + "/journal.db-wal");
  }

  /// RETURNS: where a fresh copy of the dead machine's files lies.
  std::string fresh_copy() {
    copy_ = std::make_unique<ScratchFolder>();
    fs::copy(dead_.path(), copy_->path(), fs::copy_options::recursive);
    return copy_->path();
  }

  static void garble(const std::string& file, uint64_t offset, Prng& prng) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(offset));
    const int old = stream.get();
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.put(static_cast<char>(old ^ static_cast<int>(1 + prng.below(255))));
  }

  /// Opens what is there. Whatever is handed out must be right and end with a batch; RETURNS: the
  /// last sequence, or nothing if the journal says that it is damaged.
  std::optional<uint64_t> reopen(const std::string& directory) {
    auto journal = open_sqlite_journal({.directory = directory});
    if (!journal.ok()) return refused(journal.error());
    const auto term = (*journal)->acquire();
    if (!term.ok()) return refused(term.error());
    for (uint64_t next = 1;;) {
      const auto records = (*journal)->read(next, 100);
      if (!records.ok()) return refused(records.error());
      for (const JournalRecord& record : *records) {
        EXPECT_EQ(record.sequence, next);
        EXPECT_EQ(record.bytes, record_text(next));
        ++next;
      }
      if (!records->empty()) continue;
      EXPECT_TRUE(is_border(next - 1)) << next - 1;
      const auto more = batch_at(next);
      EXPECT_TRUE((*journal)->append(more).ok());
      return next - 1;
    }
  }

  static std::optional<uint64_t> refused(const Error& error) {
    EXPECT_TRUE(error.code == Code::kDataLoss || error.code == Code::kFailedPrecondition)
        << error.text();
    EXPECT_NE(error.message.find("journal.db"), std::string::npos) << error.text();
    return std::nullopt;
  }

  ScratchFolder live_, dead_;
  std::unique_ptr<ScratchFolder> copy_;
  uint64_t last_ = 0;
  uint64_t log_size_ = 0;
};

TEST_F(TornTailTest, an_unharmed_copy_has_everything) {
  EXPECT_EQ(reopen(fresh_copy()), last_);
}

TEST_F(TornTailTest, a_log_cut_anywhere_gives_whole_batches_from_the_start) {
  Prng prng(11);
  std::set<uint64_t> ends;
  for (int i = 0; i < 100; ++i) {
    const uint64_t size = prng.below(log_size_);
    SCOPED_TRACE("log cut to " + std::to_string(size));
    const std::string directory = fresh_copy();
    fs::resize_file(directory + "/journal.db-wal", size);
    const auto last = reopen(directory);
    ASSERT_TRUE(last.has_value());
    EXPECT_LE(*last, last_);
    ends.insert(*last);
  }
  EXPECT_GT(ends.size(), 10u);  // the cuts fell into many different batches
}

TEST_F(TornTailTest, a_log_garbled_anywhere_gives_whole_batches_or_says_so) {
  Prng prng(12);
  for (int i = 0; i < 100; ++i) {
    const uint64_t offset = prng.below(log_size_);
    SCOPED_TRACE("log garbled at " + std::to_string(offset));
    const std::string directory = fresh_copy();
    garble(directory + "/journal.db-wal", offset, prng);
    const auto last = reopen(directory);
    EXPECT_LE(last.value_or(0), last_);
  }
}

TEST_F(TornTailTest, a_database_garbled_anywhere_never_gives_wrong_bytes) {
  { MUST(open_sqlite_journal({.directory = dead_.path()})); }  // a clean close moves the log in
  const uint64_t size = fs::file_size(dead_.path() + "/journal.db");
  Prng prng(13);
  int damaged = 0;
  for (int i = 0; i < 150; ++i) {
    // Half of the hits go to the first three pages: header, tables, roots.
    const uint64_t offset = prng.below(i % 2 == 0 ? size : 3 * 4096);
    SCOPED_TRACE("database garbled at " + std::to_string(offset));
    const std::string directory = fresh_copy();
    garble(directory + "/journal.db", offset, prng);
    damaged += reopen(directory).has_value() ? 0 : 1;
    if (HasFailure()) return;
  }
  EXPECT_GT(damaged, 30);
}

}  // namespace
}  // namespace keiko
