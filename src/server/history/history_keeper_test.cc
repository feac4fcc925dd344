// The keeper on a fake medium and a clock that the test moves.
#include "server/history/history_keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/log.h"
#include "ports/history/history_fake.h"

namespace keiko::server {
namespace {

/// The test moves it, the keeper's thread looks at it.
class SharedClock : public Clock {
 public:
  Time now() override { return {ns_.load()}; }
  WallTime wall() override { return {ns_.load()}; }
  void advance(Duration step) { ns_ += step.ns; }

 private:
  std::atomic<int64_t> ns_{(hours(400'000) + seconds(1)).ns};
};

class HistoryKeeperTest : public testing::Test {
 protected:
  HistoryKeeperTest() {
    set_log_level(LogLevel::kOff);
    options_.write_every = milliseconds(1);
    options_.sweep_every = hours(1'000'000);
  }

  void start() {
    keeper_.reset();
    history_ = std::make_unique<FakeHistory>(disk_);
    keeper_ = std::make_unique<HistoryKeeper>(*history_, options_, clock_, probe_);
  }

  void put(const std::string& node, double watts) {
    keeper_->put(node, {{{SubjectKind::kDevice, "GPU-1"}, {{"power_watts", watts}}},
                        {{SubjectKind::kNode, ""}, {{"load_1m", 1.0}}}});
  }

  HistoryAnswer ask(HistoryAsk ask) {
    std::promise<Result<HistoryAnswer>> answered;
    keeper_->read(std::move(ask), [&](Result<HistoryAnswer> answer) {
      answered.set_value(std::move(answer));
    });
    return MUST(answered.get_future().get());
  }

  HistoryAnswer last(Duration since, const std::string& node = "a") {
    return ask({node, "", {}, {since, {}, seconds(10)}});
  }

  /// Questions are answered after the queue was written.
  void written() { (void)last(minutes(1)); }

  SharedClock clock_;
  ServerProbe probe_;
  HistoryOptions options_;
  std::shared_ptr<FakeHistoryDisk> disk_ = std::make_shared<FakeHistoryDisk>();
  std::unique_ptr<FakeHistory> history_;
  std::unique_ptr<HistoryKeeper> keeper_;
};

const Bucket& watts_at(const HistoryAnswer& answer, size_t index) {
  return std::next(answer.spans.begin(), static_cast<std::ptrdiff_t>(index))
      ->second.at("GPU-1").at("power_watts");
}

TEST_F(HistoryKeeperTest, the_present_span_is_told_before_it_is_written) {
  start();
  put("a", 100);
  put("a", 300);
  const HistoryAnswer answer = last(minutes(1));
  ASSERT_EQ(answer.spans.size(), 1u);
  EXPECT_EQ(watts_at(answer, 0), (Bucket{100, 300, 200, 2}));
  EXPECT_TRUE(disk_->rows.empty());
  EXPECT_TRUE(last(minutes(1), "b").spans.empty());
}

TEST_F(HistoryKeeperTest, an_ended_span_is_kept_at_every_step_and_over_a_start) {
  start();
  put("a", 100);
  clock_.advance(seconds(10));
  put("a", 500);
  keeper_->stop();
  EXPECT_EQ(disk_->rows.size(), 4u) << "two of 10 s, one of 1 min, one of 15 min";
  start();
  clock_.advance(seconds(1));
  EXPECT_EQ(last(minutes(5)).spans.size(), 2u);
  const HistoryAnswer day = ask({"a", "", {}, {hours(24), {}, {}}});
  ASSERT_EQ(day.spans.size(), 1u);
  EXPECT_EQ(watts_at(day, 0), (Bucket{100, 500, 300, 2}));
}

TEST_F(HistoryKeeperTest, a_node_that_went_is_written_and_told_of_an_hour_later) {
  start();
  put("a", 250);
  clock_.advance(hours(1));
  const HistoryAnswer answer = last(hours(2));
  ASSERT_EQ(answer.spans.size(), 1u);
  EXPECT_EQ(watts_at(answer, 0).mean, 250);
  EXPECT_EQ(disk_->rows.size(), 3u);
  EXPECT_TRUE(last(minutes(30)).spans.empty());
}

TEST_F(HistoryKeeperTest, only_what_was_asked_for_is_told) {
  start();
  put("a", 250);
  const HistoryAnswer device = ask({"a", "GPU-1", {}, {minutes(1), {}, {}}});
  ASSERT_EQ(device.spans.size(), 1u);
  EXPECT_EQ(device.spans.begin()->second.count(""), 0u);
  const HistoryAnswer metric = ask({"a", "", {"load_1m"}, {minutes(1), {}, {}}});
  EXPECT_EQ(metric.spans.begin()->second.at("").size(), 1u);
  EXPECT_TRUE(metric.spans.begin()->second.at("GPU-1").empty());
}

TEST_F(HistoryKeeperTest, a_full_disk_makes_spans_wait_and_the_newest_beyond_the_bound_go) {
  options_.queue_rows = 3;
  disk_->full = true;
  start();
  for (int i = 0; i < 6; ++i) {
    put("a", 100 + i);
    clock_.advance(seconds(10));
    written();
  }
  EXPECT_TRUE(disk_->rows.empty());
  EXPECT_NE(probe_.text().find("keiko_history_spans_dropped_total 3"), std::string::npos)
      << probe_.text();
  EXPECT_EQ(probe_.history_writable.value(), 0);
  EXPECT_GE(probe_.history_failures.value(), 3u);
  disk_->full = false;
  written();
  EXPECT_EQ(probe_.history_writable.value(), 1);
  const HistoryAnswer answer = last(minutes(2));
  ASSERT_EQ(answer.spans.size(), 3u);
  EXPECT_EQ(watts_at(answer, 0).mean, 100);
}

TEST_F(HistoryKeeperTest, what_is_too_old_goes_fine_spans_first) {
  options_.sweep_every = milliseconds(1);
  options_.keep = hours(48);
  start();
  put("a", 100);
  clock_.advance(hours(7));
  written();
  written();  // a sweep follows the answers
  EXPECT_EQ(disk_->rows.size(), 2u) << "1 min and 15 min";
  clock_.advance(hours(42));
  written();
  written();
  EXPECT_TRUE(disk_->rows.empty());
}

TEST_F(HistoryKeeperTest, beyond_its_size_the_oldest_of_the_finest_go) {
  start();
  written();
  written();  // the sweep of the start is over
  for (int i = 0; i < 120; ++i) {  // 20 minutes: 240 fine buckets, and coarser ones
    put("a", 100);
    clock_.advance(seconds(10));
  }
  written();
  const size_t before = disk_->rows.size();
  options_.total = Bytes{static_cast<int64_t>(sizeof(Bucket)) * 200};
  options_.sweep_every = milliseconds(1);
  keeper_->stop();
  start();
  written();
  written();
  EXPECT_LT(disk_->rows.size(), before);
  EXPECT_LE(MUST(history_->size()), options_.total);
  EXPECT_EQ(last(minutes(9)).spans.size(), 54u) << "the newest are whole";
}

}  // namespace
}  // namespace keiko::server
