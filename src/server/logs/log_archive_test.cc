// The archive over a fake disk: what it keeps, when it says so, and who hears of it.
#include "server/logs/log_archive.h"

#include <gtest/gtest.h>

#include "ports/clock_fake.h"
#include "ports/logs/log_store_fake.h"
#include "server/testing/test_server.h"

namespace keiko::server {
namespace {

const LogName kName{{JobId{1}, 1, 0}, LogStream::kOut};

class FakePort : public ShipPort {
 public:
  void receipt(const LogReceipt& receipt) override {
    const std::lock_guard lock(mutex_);
    receipts_.push_back(receipt);
  }
  void read_next() override {
    const std::lock_guard lock(mutex_);
    ++dealt_with_;
  }
  int dealt_with() {
    const std::lock_guard lock(mutex_);
    return dealt_with_;
  }
  LogReceipt last() {
    const std::lock_guard lock(mutex_);
    return receipts_.empty() ? LogReceipt{} : receipts_.back();
  }

 private:
  std::mutex mutex_;
  std::vector<LogReceipt> receipts_;
  int dealt_with_ = 0;
};

class LogArchiveTest : public testing::Test {
 protected:
  LogArchiveTest() {
    set_log_level(LogLevel::kError);
    options_.sync_every = milliseconds(20);
    options_.retry_first = milliseconds(30);
    options_.retry_most = milliseconds(60);
    start();
  }
  void start() {
    archive_.reset();
    store_ = std::make_unique<FakeLogStore>(disk_);
    archive_ = std::make_unique<LogArchive>(
        *store_, options_, clock_, [this](const std::string& event, const std::string&) {
          const std::lock_guard lock(mutex_);
          events_.push_back(event);
        });
    archive_->reader().set_emit([this](LogChunk chunk) {
      const std::lock_guard lock(mutex_);
      chunks_.push_back(std::move(chunk));
    });
  }
  void ship(int64_t offset, const std::string& data, bool ended = false) {
    const int before = port_->dealt_with();
    archive_->take(port_, {kName, offset, data, ended});
    EXPECT_TRUE(eventually([&] { return port_->dealt_with() > before; }));
  }
  void set_full(bool full) {
    const std::lock_guard lock(disk_->mutex);
    disk_->full = full;
  }
  std::vector<std::string> events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::string read_text() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const LogChunk& chunk : chunks_) text += chunk.data + chunk.error;
    return text;
  }
  bool read_ended() {
    const std::lock_guard lock(mutex_);
    return !chunks_.empty() && chunks_.back().ended;
  }
  static LogRead read_of(bool follow) {
    LogRead read;
    read.request = 5;
    read.key = kName.worker;
    read.max_bytes = 1 << 20;
    read.follow = follow;
    return read;
  }

  std::mutex mutex_;
  std::vector<std::string> events_;
  std::vector<LogChunk> chunks_;
  LogOptions options_;
  FakeClock clock_{Time{} + seconds(1000)};
  std::shared_ptr<FakeLogDisk> disk_ = std::make_shared<FakeLogDisk>();
  std::shared_ptr<FakePort> port_ = std::make_shared<FakePort>();
  std::unique_ptr<FakeLogStore> store_;
  std::unique_ptr<LogArchive> archive_;
};

TEST_F(LogArchiveTest, a_question_is_answered_and_makes_no_log) {
  ship(0, "");
  EXPECT_EQ(port_->last().written, 0);
  EXPECT_FALSE(port_->last().rewind);
  EXPECT_EQ(store_->extent(kName).error().code, Code::kNotFound);
}

TEST_F(LogArchiveTest, keeps_each_byte_once_however_often_it_comes) {
  ship(0, "abc");
  ship(1, "bcdef");
  ship(0, "abc");
  EXPECT_EQ(port_->last().written, 6);
  EXPECT_EQ(disk_->text(kName), "abcdef");
}

TEST_F(LogArchiveTest, a_gap_is_sent_back_to_where_it_begins) {
  ship(0, "abc");
  ship(9, "xyz");
  EXPECT_TRUE(port_->last().rewind);
  EXPECT_EQ(port_->last().written, 3);
  EXPECT_EQ(disk_->text(kName), "abc");
}

TEST_F(LogArchiveTest, an_end_is_complete_only_when_it_is_durable) {
  ship(0, "all of it", true);
  ASSERT_TRUE(eventually([&] { return port_->last().complete; }));
  disk_->lose_power();
  EXPECT_EQ(disk_->text(kName), "all of it");
}

TEST_F(LogArchiveTest, an_end_that_an_earlier_start_took_is_confirmed) {
  ship(0, "all of it", true);
  ASSERT_TRUE(eventually([&] { return port_->last().complete; }));
  start();
  port_ = std::make_shared<FakePort>();
  ship(0, "");
  EXPECT_TRUE(eventually([&] { return port_->last().complete; }));
}

TEST_F(LogArchiveTest, what_was_lost_with_the_power_is_taken_again) {
  options_.sync_every = hours(1);
  start();
  ship(0, "abcdef");
  disk_->lose_power(2);
  ship(6, "ghi");
  EXPECT_TRUE(port_->last().rewind);
  EXPECT_EQ(port_->last().written, 2);
  ship(2, "cdefghi");
  EXPECT_EQ(disk_->text(kName), "abcdefghi");
}

TEST_F(LogArchiveTest, a_full_disk_pauses_is_told_once_and_loses_nothing) {
  ship(0, "abc");
  set_full(true);
  for (int i = 0; i < 5; ++i) ship(3, "def");
  EXPECT_EQ(port_->last().paused, "the disk is full");
  EXPECT_TRUE(port_->last().rewind);
  EXPECT_EQ(port_->last().written, 3);
  EXPECT_EQ(archive_->paused(), "the disk is full");
  set_full(false);
  ASSERT_TRUE(eventually([&] {
    ship(3, "def");
    return port_->last().paused.empty();
  }));
  EXPECT_EQ(disk_->text(kName), "abcdef");
  EXPECT_EQ(archive_->paused(), "");
  EXPECT_EQ(events(), (std::vector<std::string>{"logs_paused", "logs_resumed"}));
}

TEST_F(LogArchiveTest, below_the_floor_of_free_space_nothing_is_taken) {
  disk_->free = mebibytes(100);
  ship(0, "abc");
  EXPECT_EQ(port_->last().paused,
            "the server's disk has only 100MiB left, and takes output from 256MiB on");
  EXPECT_EQ(store_->extent(kName).error().code, Code::kNotFound);
}

TEST_F(LogArchiveTest, a_stream_over_its_limit_is_cut_marked_and_complete) {
  options_.stream_limit = Bytes{10};
  start();
  ship(0, "0123456");
  EXPECT_EQ(disk_->text(kName), "0123456");
  ship(7, "789 and more");
  const std::string kept = disk_->text(kName);
  EXPECT_EQ(kept.find("0123456789\n[keiko: output over 10B was dropped here"), 0u) << kept;
  ASSERT_TRUE(eventually([&] { return port_->last().complete; })) << "send no more of it";
  ship(19, "and much more", true);
  EXPECT_EQ(disk_->text(kName), kept);
  ASSERT_TRUE(eventually([&] { return port_->last().complete; }));
}

TEST_F(LogArchiveTest, output_of_a_job_whose_logs_were_removed_is_unwanted) {
  MUST(store_->remove(JobId{1}, "removed"));
  ship(0, "abc");
  EXPECT_TRUE(port_->last().unwanted);
}

TEST_F(LogArchiveTest, a_read_that_follows_hears_of_growth_and_of_the_end) {
  ship(0, "one\n");
  archive_->reader().start(read_of(true));
  ASSERT_TRUE(eventually([&] { return read_text() == "one\n"; }));
  ship(4, "two\n");
  ASSERT_TRUE(eventually([&] { return read_text() == "one\ntwo\n"; }));
  EXPECT_FALSE(read_ended());
  ship(8, "", true);
  EXPECT_TRUE(eventually([&] { return read_ended(); }));
}

TEST_F(LogArchiveTest, a_read_of_what_is_not_here_says_so) {
  archive_->reader().start(read_of(true));
  EXPECT_TRUE(eventually([&] { return read_text().find("no log j1.1.0.out") == 0; }));
}

TEST_F(LogArchiveTest, a_read_since_a_time_begins_there_and_tells_times) {
  ship(0, "old\n");
  clock_.advance(minutes(5));
  ship(4, "new\n");
  LogRead read = read_of(false);
  read.since = {clock_.wall().ns - minutes(1).ns};
  read.times = true;
  archive_->reader().start(read);
  ASSERT_TRUE(eventually([&] { return read_text() == "new\n"; }));
  const std::lock_guard lock(mutex_);
  ASSERT_EQ(chunks_.front().marks.size(), 1u);
  EXPECT_EQ(chunks_.front().marks[0].at.ns, clock_.wall().ns);
}

}  // namespace
}  // namespace keiko::server
