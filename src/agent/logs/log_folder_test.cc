#include "agent/logs/log_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

namespace keiko::agent {
namespace {

namespace fs = std::filesystem;

constexpr WorkerKey kKey{JobId{7}, 2, 3};

class LogFolderTest : public testing::Test {
 protected:
  LogFolderTest() { fs::create_directories(state_ + "/logs/j7/2"); }
  ~LogFolderTest() override { fs::remove_all(state_); }
  static std::string new_folder() {
    std::string pattern = testing::TempDir() + "keiko_logs_XXXXXX";
    return mkdtemp(pattern.data());
  }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(state_ + "/logs/" + file) << text;
  }
  void make_old(const std::string& file, int64_t age_s) const {
    const timespec then{time(nullptr) - age_s, 0};
    const timespec both[2] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, (state_ + "/logs/" + file).c_str(), both, 0), 0);
  }

  const std::string state_ = new_folder();
  const LogFolder folder_{state_};
};

TEST_F(LogFolderTest, lists_each_worker_once_with_all_it_takes) {
  write("j7/2/3.out", "12345");
  write("j7/2/3.err", "678");
  write("j7/2/notes.txt", "not a worker's");
  fs::create_directories(state_ + "/logs/elsewhere/1");
  const std::vector<logship::NodeOutput> outputs = folder_.list();
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].worker, kKey);
  EXPECT_EQ(outputs[0].size, Bytes{8});
  EXPECT_TRUE(outputs[0].end_told);
  EXPECT_FALSE(outputs[0].shipped);
}

TEST_F(LogFolderTest, tells_how_long_the_server_has_it_and_whether_the_end_is_told) {
  write("j7/2/3.out", "x");
  folder_.mark_shipped(kKey);
  make_old("j7/2/3.shipped", 100);
  fs::create_directories(state_ + "/workers/j7.2.3");
  const logship::NodeOutput output = folder_.list().at(0);
  EXPECT_TRUE(output.shipped);
  EXPECT_GE(output.since_shipped, seconds(100));
  EXPECT_LT(output.since_shipped, seconds(160));
  EXPECT_FALSE(output.end_told);
}

TEST_F(LogFolderTest, removes_a_worker_and_the_folders_that_are_empty_then) {
  write("j7/2/3.out", "x");
  write("j7/2/4.out", "y");
  folder_.mark_shipped(kKey);
  folder_.remove(kKey);
  EXPECT_EQ(folder_.list().at(0).worker.rank, 4);
  EXPECT_EQ(folder_.list().size(), 1u);
  folder_.remove({JobId{7}, 2, 4});
  EXPECT_FALSE(fs::exists(state_ + "/logs/j7"));
  EXPECT_TRUE(fs::exists(state_ + "/logs"));
}

TEST_F(LogFolderTest, a_removal_that_a_crash_cut_short_is_finished_by_the_next) {
  folder_.mark_shipped(kKey);  // the logs are gone already
  ASSERT_EQ(folder_.list().size(), 1u);
  EXPECT_TRUE(folder_.list()[0].shipped);
  folder_.remove(kKey);
  EXPECT_FALSE(fs::exists(state_ + "/logs/j7"));
}

TEST_F(LogFolderTest, folders_of_workers_that_never_printed_go_when_they_are_old) {
  fs::create_directories(state_ + "/logs/j8/1");
  make_old("j7/2", 3600);
  folder_.remove_empty_folders();
  EXPECT_FALSE(fs::exists(state_ + "/logs/j7"));
  EXPECT_TRUE(fs::exists(state_ + "/logs/j8/1")) << "a worker may be starting there";
  write("j8/1/0.out", "x");
  make_old("j8/1", 3600);
  folder_.remove_empty_folders();
  EXPECT_TRUE(fs::exists(state_ + "/logs/j8/1/0.out"));
}

}  // namespace
}  // namespace keiko::agent
