// A disk that does not confirm a flush. SQLite reaches fsync and fdatasync through the dynamic
// linker, which prefers the two of this program; they fail when a test says so.
#include <cerrno>

#include <sys/syscall.h>

#include "drivers/journal/sqlite/journal_harness.h"

namespace {

bool disk_is_broken = false;

int flush(long call, int file) {
  if (!disk_is_broken) return static_cast<int>(syscall(call, file));
  errno = EIO;
  return -1;
}

}  // namespace

extern "C" int fsync(int file) { return flush(SYS_fsync, file); }
extern "C" int fdatasync(int file) { return flush(SYS_fdatasync, file); }

namespace keiko {
namespace {

class JournalFlush : public testing::Test {
 protected:
  ~JournalFlush() override { disk_is_broken = false; }

  static Done append(Journal& journal, std::vector<std::string> records) {
    return journal.append(records);
  }
};

TEST_F(JournalFlush, a_writer_stops_for_good_after_an_unconfirmed_flush) {
  ScratchFolder folder;
  auto journal = MUST(open_sqlite_journal({.directory = folder.path()}));
  MUST(journal->acquire());
  MUST(append(*journal, {"sound"}));
  disk_is_broken = true;
  const Done lost = append(*journal, {"unconfirmed"});
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().code, Code::kUnavailable) << lost.error().text();
  EXPECT_NE(lost.error().message.find("check it"), std::string::npos) << lost.error().text();
  // A later flush that succeeds would prove nothing about the pages of the first.
  disk_is_broken = false;
  EXPECT_EQ(append(*journal, {"later"}).error().code, Code::kUnavailable);
  EXPECT_EQ(journal->snapshot(1, "s").error().code, Code::kUnavailable);
  EXPECT_EQ(journal->acquire().error().code, Code::kUnavailable);
  EXPECT_EQ(MUST(journal->read(1, 9)).size(), 1u);
  journal.reset();
  auto again = MUST(open_sqlite_journal({.directory = folder.path()}));
  MUST(again->acquire());
  const auto records = MUST(again->read(1, 9));
  ASSERT_GE(records.size(), 1u);
  ASSERT_LE(records.size(), 2u);
  EXPECT_EQ(records[0].bytes, "sound");
  MUST(append(*again, {"goes on"}));
}

TEST_F(JournalFlush, a_journal_does_not_open_on_a_disk_that_cannot_flush) {
  ScratchFolder folder;
  disk_is_broken = true;
  EXPECT_FALSE(open_sqlite_journal({.directory = folder.path()}).ok());
  disk_is_broken = false;
  EXPECT_TRUE(open_sqlite_journal({.directory = folder.path()}).ok());
}

}  // namespace
}  // namespace keiko
