#include "agent/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ports/substrate.h"

namespace keiko::agent {
namespace {

using testing::HasSubstr;

/// A state directory, a reader over it and a link that collects what it is sent.
class LogReading : public testing::Test {
 protected:
  LogReading() {
    std::string path = std::filesystem::temp_directory_path() / "keiko-logs-XXXXXX";
    state_dir_ = mkdtemp(path.data());
    out_ = worker_paths(state_dir_, kKey).out;
    std::filesystem::create_directories(std::filesystem::path(out_).parent_path());
    reader_.emplace(state_dir_, [this](const LogChunk& chunk) { return take(chunk); });
  }
  ~LogReading() override {
    reader_.reset();
    std::filesystem::remove_all(state_dir_);
  }

  void write(const std::string& text) { std::ofstream(out_, std::ios::app) << text; }

  static LogRead from(int64_t offset, int64_t max_bytes = 1 << 20, bool follow = false) {
    return {1, kKey, LogStream::kOut, offset, max_bytes, follow};
  }

  /// Waits until `met` holds for what has come. RETURNS: whether it came to that.
  template <class Met>
  bool wait(Met met) {
    std::unique_lock lock(mutex_);
    return came_.wait_for(lock, std::chrono::seconds(20), met);
  }
  bool wait_for_end() {
    return wait([this] { return !last_.error.empty() || last_.eof; });
  }

  static constexpr WorkerKey kKey{{7}, 1, 0};
  std::string state_dir_;
  std::string out_;

  std::mutex mutex_;
  std::condition_variable came_;
  std::string data_;
  LogChunk last_;
  std::optional<int64_t> first_offset_;
  int chunk_count_ = 0;
  int busy_count_ = 0;   // how many sends are refused for now
  std::optional<LogReader> reader_;

 private:
  Done take(const LogChunk& chunk) {
    const std::scoped_lock lock(mutex_);
    if (busy_count_ > 0) {
      --busy_count_;
      return resource_exhausted("later");
    }
    EXPECT_LE(chunk.data.size(), kMaxLogChunk);
    if (!first_offset_) first_offset_ = chunk.offset;
    if (chunk.error.empty()) {
      EXPECT_EQ(chunk.offset, *first_offset_ + static_cast<int64_t>(data_.size()));
    }
    data_ += chunk.data;
    last_ = chunk;
    ++chunk_count_;
    came_.notify_all();
    return done();
  }
};

TEST_F(LogReading, sends_a_finished_log_whole_and_says_that_it_ended) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "line " + std::to_string(i) + "\n";
  write(text);
  reader_->start(from(0));
  ASSERT_TRUE(wait([this] { return last_.ended; }));
  EXPECT_EQ(data_, text);
  EXPECT_EQ(last_.request, 1u);
}

TEST_F(LogReading, reads_from_an_offset_and_no_more_than_was_asked) {
  write("0123456789");
  reader_->start(from(2, 5));
  ASSERT_TRUE(wait([this] { return data_.size() >= 5; }));
  EXPECT_EQ(data_, "23456");
  EXPECT_EQ(first_offset_, 2);
  EXPECT_FALSE(last_.eof);
}

TEST_F(LogReading, counts_a_negative_offset_from_the_end) {
  write("0123456789");
  reader_->start(from(-3));
  ASSERT_TRUE(wait_for_end());
  EXPECT_EQ(data_, "789");
  EXPECT_EQ(first_offset_, 7);
}

TEST_F(LogReading, a_negative_offset_beyond_the_start_is_the_start) {
  write("0123456789");
  reader_->start(from(-300));
  ASSERT_TRUE(wait_for_end());
  EXPECT_EQ(data_, "0123456789");
}

TEST_F(LogReading, an_offset_beyond_the_end_is_the_end) {
  write("0123456789");
  reader_->start(from(300));
  ASSERT_TRUE(wait_for_end());
  EXPECT_EQ(data_, "");
  EXPECT_TRUE(last_.ended);
}

TEST_F(LogReading, the_log_of_a_living_worker_is_not_ended) {
  reader_->set_live(kKey, true);
  write("so far\n");
  reader_->start(from(0));
  ASSERT_TRUE(wait_for_end());
  EXPECT_EQ(data_, "so far\n");
  EXPECT_FALSE(last_.ended);
}

TEST_F(LogReading, follows_a_worker_to_its_end) {
  reader_->set_live(kKey, true);
  reader_->start(from(0, 1 << 20, true));
  ASSERT_TRUE(wait([this] { return last_.eof; })) << "says that there is nothing yet";
  write("one\n");
  ASSERT_TRUE(wait([this] { return data_ == "one\n"; }));
  write("two\n");
  ASSERT_TRUE(wait([this] { return data_ == "one\ntwo\n"; }));
  EXPECT_FALSE(last_.ended);
  write("last\n");
  reader_->set_live(kKey, false);
  ASSERT_TRUE(wait([this] { return last_.ended; }));
  EXPECT_EQ(data_, "one\ntwo\nlast\n");
}

TEST_F(LogReading, sends_again_what_the_link_did_not_take) {
  busy_count_ = 3;
  write("0123456789");
  reader_->start(from(0));
  ASSERT_TRUE(wait_for_end());
  EXPECT_EQ(data_, "0123456789");
}

TEST_F(LogReading, says_that_a_worker_left_no_output_here) {
  LogRead read = from(0);
  read.key.job.number = 8;
  reader_->start(read);
  ASSERT_TRUE(wait_for_end());
  EXPECT_THAT(last_.error, HasSubstr("no output of j8.1.0"));
}

TEST_F(LogReading, an_error_waits_for_the_link_too) {
  busy_count_ = 2;
  reader_->start(from(0, 0));
  ASSERT_TRUE(wait_for_end());
  EXPECT_THAT(last_.error, HasSubstr("max_bytes"));
}

TEST_F(LogReading, a_cancelled_read_sends_no_more) {
  reader_->set_live(kKey, true);
  write("one\n");
  reader_->start(from(0, 1 << 20, true));
  ASSERT_TRUE(wait([this] { return data_ == "one\n"; }));
  reader_->cancel(1);
  LogRead second = from(0);  // its answer shows that the cancel was obeyed
  second.request = 2;
  second.key.rank = 5;
  reader_->start(second);
  ASSERT_TRUE(wait([this] { return last_.request == 2; }));
  write("two\n");
  reader_->set_live(kKey, false);
  second.request = 3;
  reader_->start(second);
  ASSERT_TRUE(wait([this] { return last_.request == 3; }));
  EXPECT_EQ(data_, "one\n");
}

TEST_F(LogReading, nothing_is_sent_for_a_stream_that_is_gone) {
  reader_->set_live(kKey, true);
  write("one\n");
  reader_->start(from(0, 1 << 20, true));
  ASSERT_TRUE(wait([this] { return data_ == "one\n"; }));
  reader_->drop_all();
  write("two\n");
  LogRead second = from(4);
  second.request = 2;
  reader_->start(second);
  ASSERT_TRUE(wait([this] { return last_.request == 2; }));
  reader_->set_live(kKey, false);
  EXPECT_EQ(data_, "one\ntwo\n") << "the second line once, for the second read";
}

TEST_F(LogReading, many_reads_go_on_side_by_side) {
  reader_->set_live(kKey, true);
  write("one\n");
  for (uint64_t request = 1; request <= 600; ++request) {
    LogRead read = from(4, 1 << 20, true);
    read.request = request;
    reader_->start(read);
  }
  ASSERT_TRUE(wait([this] { return chunk_count_ >= 600; }));
  EXPECT_THAT(last_.error, HasSubstr("log reads already"));
}

}  // namespace
}  // namespace keiko::agent
