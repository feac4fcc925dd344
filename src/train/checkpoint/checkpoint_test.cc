// Checkpoints on bad days: cut off, flipped bits, no space, half written.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/text/corpus.h"

namespace keiko::train {
namespace {

namespace fs = std::filesystem;

class TrainCheckpoints : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "keiko-ckpt-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    set_log_level(LogLevel::kOff);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    set_log_level(LogLevel::kInfo);
  }

  CheckpointStore open(int64_t keep = 3) const {
    return MUST(CheckpointStore::open(folder_, keep));
  }

  static std::string save(const CheckpointStore& store, int64_t step) {
    const std::string text = "weights of step " + std::to_string(step);
    return MUST(store.save(step, {{"head", "h"}, {"weights", text}, {"empty", ""}}));
  }

  static void overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::string folder_;
};

TEST_F(TrainCheckpoints, give_back_what_was_saved) {
  const CheckpointStore store = open();
  EXPECT_FALSE(MUST(store.load_newest()).has_value());
  save(store, 10);
  const std::string path = save(store, 20);
  const auto newest = MUST(store.load_newest());
  ASSERT_TRUE(newest.has_value());
  EXPECT_EQ(newest->step, 20);
  EXPECT_EQ(newest->path, path);
  EXPECT_EQ(newest->sections.at("weights"), "weights of step 20");
  EXPECT_EQ(newest->sections.at("empty"), "");
}

TEST_F(TrainCheckpoints, keep_the_newest_few) {
  const CheckpointStore store = open(2);
  for (const int64_t step : {5, 10, 15, 20}) save(store, step);
  EXPECT_EQ(store.steps(), (std::vector<int64_t>{20, 15}));
}

TEST_F(TrainCheckpoints, refuse_every_prefix_of_a_file) {
  const CheckpointStore store = open();
  const std::string path = save(store, 1);
  const std::string whole = MUST(read_text(path));
  for (size_t length = 0; length < whole.size(); ++length) {
    overwrite(path, whole.substr(0, length));
    const auto outcome = read_section_file(path);
    ASSERT_FALSE(outcome.ok()) << length;
    EXPECT_EQ(outcome.error().code, Code::kDataLoss);
  }
  overwrite(path, whole + "x");
  EXPECT_FALSE(read_section_file(path).ok());
}

TEST_F(TrainCheckpoints, notice_every_flipped_bit) {
  const std::string path = save(open(), 1);
  const std::string whole = MUST(read_text(path));
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string broken = whole;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    overwrite(path, broken);
    ASSERT_FALSE(read_section_file(path).ok()) << "bit " << bit;
  }
}

TEST_F(TrainCheckpoints, fall_back_to_the_older_one_when_the_newest_is_damaged) {
  const CheckpointStore store = open();
  save(store, 10);
  overwrite(save(store, 20), "garbage");
  const auto newest = MUST(store.load_newest());
  ASSERT_TRUE(newest.has_value());
  EXPECT_EQ(newest->step, 10);
}

TEST_F(TrainCheckpoints, do_not_start_over_in_silence_when_all_are_damaged) {
  const CheckpointStore store = open();
  overwrite(save(store, 10), "");
  const auto outcome = store.load_newest();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kDataLoss);
  EXPECT_NE(outcome.error().message.find("--fresh"), std::string::npos);
}

TEST_F(TrainCheckpoints, never_offer_a_file_in_the_making_and_clear_it_away) {
  save(open(), 10);
  const std::string half = folder_ + "/step-0000000020.ckpt.unfinished";
  overwrite(half, "KEIKOSF1 and then the power went");
  const CheckpointStore store = open();
  EXPECT_EQ(MUST(store.load_newest())->step, 10);
  EXPECT_FALSE(fs::exists(half));
}

TEST_F(TrainCheckpoints, leave_the_old_file_alone_when_the_disk_is_full) {
  const CheckpointStore store = open();
  const std::string path = save(store, 10);
  // /dev/full: every write fails with ENOSPC. The file in the making leads there.
  fs::create_symlink("/dev/full", path + std::string(kUnfinishedSuffix));
  const auto outcome = store.save(10, {{"weights", std::string_view("new")}});
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("No space left"), std::string::npos)
      << outcome.error().message;
  EXPECT_EQ(MUST(store.load_newest())->sections.at("weights"), "weights of step 10");
}

TEST_F(TrainCheckpoints, name_the_folder_that_cannot_be_made) {
  overwrite(folder_ + "/file", "");
  const auto outcome = CheckpointStore::open(folder_ + "/file/below", 3);
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("/file/below"), std::string::npos);
}

}  // namespace
}  // namespace keiko::train
