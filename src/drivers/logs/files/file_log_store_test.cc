#include "drivers/logs/files/file_log_store.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/prng.h"
#include "ports/logs/log_store_conformance.h"

namespace keiko {
namespace {

namespace fs = std::filesystem;

const LogName kName{{JobId{1}, 1, 0}, LogStream::kOut};

class FileHarness {
 public:
  FileHarness() {
    std::string pattern = testing::TempDir() + "keiko_logs_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    reopen();
  }
  ~FileHarness() {
    fill(false);
    store_.reset();
    fs::remove_all(folder_);
  }
  LogStore& store() { return *store_; }
  void reopen(size_t most_open = 256) {
    store_.reset();
    store_ = MUST(FileLogStore::open(folder_ + "/logs", most_open));
  }
  /// No file may grow: to a program that is a disk without room.
  void fill(bool full) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = full ? 6 : limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::string path(const std::string& beside = "") const {
    return folder_ + "/logs/j1/1/0.out" + beside;
  }

 private:
  std::string folder_;
  std::unique_ptr<FileLogStore> store_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Files, LogStoreConformance, FileHarness);

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FileLogStore, the_text_is_a_plain_file) {
  FileHarness harness;
  MUST(harness.store().append(kName, "hello\n", false, {}));
  EXPECT_EQ(content(harness.path()), "hello\n");
}

TEST(FileLogStore, bytes_without_a_mark_are_cut_off_at_the_next_start) {
  FileHarness harness;
  MUST(harness.store().append(kName, "whole\n", false, {}));
  std::ofstream(harness.path(), std::ios::app) << "torn";
  harness.reopen();
  EXPECT_EQ(MUST(harness.store().extent(kName)).size, 6);
  MUST(harness.store().append(kName, "next\n", false, {}));
  EXPECT_EQ(content(harness.path()), "whole\nnext\n");
}

TEST(FileLogStore, marks_whose_bytes_never_reached_the_disk_are_not_believed) {
  FileHarness harness;
  MUST(harness.store().append(kName, "one\n", false, {}));
  MUST(harness.store().append(kName, "two\n", false, {}));
  MUST(harness.store().append(kName, "three\n", true, {}));
  {  // a hole where "two" should be, as an unclean stop may leave it
    std::fstream file(harness.path(), std::ios::in | std::ios::out);
    file.seekp(4);
    file.write("\0\0\0\0", 4);
  }
  harness.reopen();
  const LogExtent extent = MUST(harness.store().extent(kName));
  EXPECT_EQ(extent.size, 4);
  EXPECT_FALSE(extent.ended);
}

TEST(FileLogStore, a_cut_at_any_byte_leaves_a_beginning_of_what_was_written) {
  Prng prng(7);
  for (int round = 0; round < 60; ++round) {
    FileHarness harness;
    std::string all;
    for (int i = 0; i < 12; ++i) {
      const std::string text(prng.below(40), static_cast<char>('a' + i));
      MUST(harness.store().append(kName, text, false, {}));
      all += text;
    }
    const std::string victim = harness.path(prng.chance(1, 2) ? "" : ".marks");
    fs::resize_file(victim, prng.below(fs::file_size(victim) + 1));
    harness.reopen();
    const Result<LogText> left = harness.store().read({kName, 0, 4096, false});
    ASSERT_TRUE(left.ok());
    ASSERT_TRUE(all.starts_with(left->data));
    const std::string rest = all.substr(left->data.size());
    MUST(harness.store().append(kName, rest, true, {}));
    EXPECT_EQ(content(harness.path()), all);
  }
}

TEST(FileLogStore, more_logs_than_may_be_open_are_served) {
  FileHarness harness;
  harness.reopen(4);
  for (int round = 0; round < 2; ++round) {
    for (int32_t rank = 0; rank < 40; ++rank) {
      MUST(harness.store().append({{JobId{1}, 1, rank}, LogStream::kErr}, "x", false, {}));
      if (rank % 35 == 0) MUST(harness.store().sync());
    }
    MUST(harness.store().sync());
  }
  for (int32_t rank = 0; rank < 40; rank += 7) {
    EXPECT_EQ(MUST(harness.store().extent({{JobId{1}, 1, rank}, LogStream::kErr})).size, 2);
  }
}

}  // namespace
}  // namespace keiko
