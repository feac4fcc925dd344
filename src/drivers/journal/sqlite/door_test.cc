// How the journal answers at the door: versions, permissions, locks, full disks.
#include <fstream>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "drivers/journal/sqlite/journal_harness.h"

namespace keiko {
namespace {

Done append(Journal& journal, std::vector<std::string> records) { return journal.append(records); }

std::unique_ptr<Journal> open_acquired(const std::string& directory) {
  auto journal = MUST(open_sqlite_journal({.directory = directory}));
  MUST(journal->acquire());
  return journal;
}

Error open_error(const std::string& directory) {
  auto journal = open_sqlite_journal({.directory = directory});
  EXPECT_FALSE(journal.ok());
  return journal.ok() ? Error{} : journal.error();
}

bool mentions(const Error& error, const std::string& text) {
  return error.message.find(text) != std::string::npos;
}

TEST(SqliteJournalDoor, refuses_a_directory_of_a_newer_version_and_names_both) {
  ScratchFolder folder;
  open_acquired(folder.path());
  run_sql(folder.path(), "PRAGMA user_version=7");
  const Error error = open_error(folder.path());
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_TRUE(mentions(error, "its format is 7")) << error.text();
  EXPECT_TRUE(mentions(error, "up to 1")) << error.text();
}

TEST(SqliteJournalDoor, refuses_the_database_of_another_program) {
  ScratchFolder folder;
  run_sql(folder.path(), "CREATE TABLE theirs(x)");
  const Error error = open_error(folder.path());
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_TRUE(mentions(error, "not a journal of Keiko")) << error.text();
}

TEST(SqliteJournalDoor, says_so_when_the_file_is_no_database) {
  ScratchFolder folder;
  std::ofstream(folder.path() + "/journal.db") << std::string(5000, '#');
  const Error error = open_error(folder.path());
  EXPECT_EQ(error.code, Code::kDataLoss) << error.text();
  EXPECT_TRUE(mentions(error, folder.path())) << error.text();
}

TEST(SqliteJournalDoor, makes_the_directory_but_not_its_parents) {
  ScratchFolder folder;
  open_acquired(folder.path() + "/state");
  EXPECT_EQ(open_error(folder.path() + "/no/state").code, Code::kNotFound);
  std::ofstream(folder.path() + "/file") << "x";
  const Error error = open_error(folder.path() + "/file/state");
  EXPECT_TRUE(mentions(error, folder.path() + "/file/state")) << error.text();
}

TEST(SqliteJournalDoor, names_the_directory_that_it_may_not_write) {
  ScratchFolder folder;
  CHECK(chmod(folder.path().c_str(), 0555) == 0);
  // Root may write anywhere, so the attempt is made as nobody.
  ChildProcess stranger([&](int) {
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 77;
    const auto journal = open_sqlite_journal({.directory = folder.path()});
    if (journal.ok() || journal.error().code != Code::kPermissionDenied) return 1;
    return mentions(journal.error(), folder.path()) ? 0 : 2;
  });
  const int code = stranger.wait();
  if (code == 77) GTEST_SKIP() << "this sandbox does not let root become another user";
  EXPECT_EQ(code, 0);
}

/// Acquires, appends, reports that, stops itself; once continued, reports how an append ends.
int hold_journal(const std::string& directory, int reports) {
  auto journal = open_acquired(directory);
  MUST(append(*journal, {"holder"}));
  report(reports, 1);
  raise(SIGSTOP);  // goes on when the test sends SIGCONT
  const Done late = append(*journal, {"late"});
  report(reports, late.ok() ? 0 : static_cast<uint64_t>(late.error().code));
  return 0;
}

TEST(SqliteJournalDoor, names_the_process_that_holds_it_and_opens_once_that_died) {
  ScratchFolder folder;
  ChildProcess holder([&](int reports) { return hold_journal(folder.path(), reports); });
  uint64_t ready = 0;
  ASSERT_TRUE(holder.next_report(ready));
  auto journal = MUST(open_sqlite_journal({.directory = folder.path()}));
  const auto term = journal->acquire();
  ASSERT_FALSE(term.ok());
  EXPECT_EQ(term.error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(mentions(term.error(), "process " + std::to_string(holder.pid())))
      << term.error().text();
  EXPECT_EQ(MUST(journal->read(1, 9)).size(), 1u);
  holder.kill_and_wait();
  EXPECT_TRUE(journal->acquire().ok());
}

TEST(SqliteJournalDoor, a_hung_holder_is_fenced_by_a_takeover) {
  ScratchFolder folder;
  ChildProcess holder([&](int reports) { return hold_journal(folder.path(), reports); });
  uint64_t answer = 0;
  ASSERT_TRUE(holder.next_report(answer));
  int status = 0;
  ASSERT_EQ(waitpid(holder.pid(), &status, WUNTRACED), holder.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  auto journal = MUST(open_sqlite_journal({.directory = folder.path(), .take_over = true}));
  MUST(journal->acquire());
  holder.send(SIGCONT);
  ASSERT_TRUE(holder.next_report(answer));
  EXPECT_EQ(answer, static_cast<uint64_t>(Code::kAborted));
  MUST(append(*journal, {"mine"}));
  EXPECT_EQ(MUST(journal->read(2, 9)).front().bytes, "mine");
}

TEST(SqliteJournalDoor, a_second_server_in_the_same_process_is_refused_too) {
  ScratchFolder folder;
  auto first = open_acquired(folder.path());
  auto second = MUST(open_sqlite_journal({.directory = folder.path()}));
  const auto term = second->acquire();
  ASSERT_FALSE(term.ok());
  EXPECT_TRUE(mentions(term.error(), std::to_string(getpid()))) << term.error().text();
  MUST(append(*first, {"still mine"}));
}

TEST(SqliteJournalDoor, does_not_write_behind_a_damaged_end) {
  ScratchFolder folder;
  MUST(append(*open_acquired(folder.path()), {"1", "2"}));
  run_sql(folder.path(), "UPDATE batches SET body=zeroblob(length(body))");
  auto journal = MUST(open_sqlite_journal({.directory = folder.path()}));
  const auto term = journal->acquire();
  ASSERT_FALSE(term.ok());
  EXPECT_EQ(term.error().code, Code::kDataLoss);
  EXPECT_TRUE(mentions(term.error(), "record 1")) << term.error().text();
  EXPECT_TRUE(mentions(term.error(), "journal.db")) << term.error().text();
  EXPECT_TRUE(mentions(term.error(), "restore")) << term.error().text();
}

TEST(SqliteJournalDoor, names_a_record_that_is_missing) {
  ScratchFolder folder;
  {
    auto journal = open_acquired(folder.path());
    for (const char* text : {"1", "2", "3"}) MUST(append(*journal, {text}));
  }
  run_sql(folder.path(), "DELETE FROM batches WHERE first=2");
  auto journal = open_acquired(folder.path());
  EXPECT_EQ(MUST(journal->read(1, 9)).size(), 1u);
  const auto gap = journal->read(2, 9);
  ASSERT_FALSE(gap.ok());
  EXPECT_EQ(gap.error().code, Code::kDataLoss);
  EXPECT_TRUE(mentions(gap.error(), "record 2 is missing")) << gap.error().text();
}

TEST(SqliteJournalDoor, a_journal_at_its_size_limit_goes_on_after_a_snapshot) {
  ScratchFolder folder;
  auto journal = MUST(
      open_sqlite_journal({.directory = folder.path(), .max_size = kibibytes(256)}));
  MUST(journal->acquire());
  uint64_t last = 0;
  Done appended = done();
  while ((appended = append(*journal, {std::string(3000, 'x')})).ok()) ++last;
  EXPECT_EQ(appended.error().code, Code::kResourceExhausted) << appended.error().text();
  EXPECT_EQ(MUST(journal->read(1, 9999)).size(), last);
  MUST(journal->snapshot(last, "small"));
  MUST(append(*journal, {std::string(3000, 'y')}));
}

/// Fills a tmpfs of its own. RETURNS: 0, 77 without the right to mount, else where it went wrong.
int fill_real_disk(const std::string& directory) {
  if (unshare(CLONE_NEWNS) != 0) return 77;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  if (mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=1m") != 0) return 77;
  { std::ofstream(directory + "/ballast") << std::string(400'000, 'b'); }
  uint64_t last = 0;
  {
    auto journal = open_acquired(directory);
    Done appended = done();
    while ((appended = append(*journal, {std::string(5000, 'x')})).ok()) ++last;
    if (appended.error().code != Code::kResourceExhausted) return 1;
    appended = append(*journal, {std::string(5000, 'x')});
    if (appended.ok() || appended.error().code != Code::kResourceExhausted) return 2;
    if (MUST(journal->read(1, 9999)).size() != last) return 3;
    if (unlink((directory + "/ballast").c_str()) != 0) return 4;
    if (!append(*journal, {"room again"}).ok()) return 5;
  }
  auto again = open_acquired(directory);
  const auto records = MUST(again->read(1, 9999));
  return last > 10 && records.size() == last + 1 && records.back().bytes == "room again" ? 0 : 6;
}

TEST(SqliteJournalDoor, a_disk_without_room_loses_nothing_and_goes_on_when_there_is_some) {
  ScratchFolder folder;
  ChildProcess child([&](int) { return fill_real_disk(folder.path()); });
  const int code = child.wait();
  if (code == 77) GTEST_SKIP() << "mounting a small tmpfs needs root; the limits above stand in";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace keiko
