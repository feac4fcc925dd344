#include "agent/metrics/telemetry_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/log.h"
#include "ports/clock.h"

namespace keiko::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A clock that a test moves while other threads look at it.
class SharedClock : public Clock {
 public:
  Time now() override { return Time{ns_.load()}; }
  WallTime wall() override { return WallTime{ns_.load()}; }
  void advance(Duration step) { ns_ += step.ns; }

 private:
  std::atomic<int64_t> ns_ = seconds(1000).ns;
};

/// A source that a test holds and lets go; it may be held for ever.
struct HeldSource : telemetry::ReadingSource {
  Result<std::vector<Reading>> read() override {
    std::unique_lock lock(mutex);
    ++reads;
    changed.notify_all();
    changed.wait(lock, [this] { return !held; });
    if (fails) return unavailable("the library is away");
    return std::vector<Reading>{{subject, values}};
  }
  void wait_for_reads(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return reads >= count; });
  }
  void wait_for_more_reads(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&, until = reads + count] { return reads >= until; });
  }
  void hold(bool on) {
    const std::lock_guard lock(mutex);
    held = on;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  Subject subject{SubjectKind::kNode, ""};
  Values values{{"cpus", 4}};
  int reads = 0;
  bool held = false;
  bool fails = false;
};

class TelemetryLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::kOff);
    options_.every = milliseconds(5);
    options_.stop_patience = milliseconds(200);
  }
  void TearDown() override { set_log_level(LogLevel::kInfo); }
  std::string text(const TelemetryLoop& loop) { return loop.metrics_text({"n1", {}, {}}); }

  TelemetryOptions options_;
  std::shared_ptr<SharedClock> clock_ = std::make_shared<SharedClock>();
  std::shared_ptr<HeldSource> source_ = std::make_shared<HeldSource>();
};

TEST_F(TelemetryLoopTest, reads_again_and_again) {
  TelemetryLoop loop(options_, clock_);
  loop.add("node", source_);
  source_->wait_for_reads(3);
  EXPECT_THAT(text(loop), HasSubstr("keiko_node_cpus{node=\"n1\"} 4\n"));
  EXPECT_THAT(text(loop),
              HasSubstr("keiko_agent_sample_failures_total{node=\"n1\",source=\"node\"} 0"));
}

TEST_F(TelemetryLoopTest, reads_the_others_while_one_hangs) {
  const auto hanging = std::make_shared<HeldSource>();
  hanging->subject = {SubjectKind::kDevice, "GPU-1"};
  hanging->values = {{"power_watts", 300}};
  TelemetryLoop loop(options_, clock_);
  loop.add("devices", hanging);
  hanging->wait_for_reads(2);
  hanging->hold(true);
  loop.add("node", source_);
  source_->wait_for_reads(2);
  EXPECT_THAT(text(loop), HasSubstr("keiko_device_power_watts"));
  clock_->advance(seconds(11));
  source_->wait_for_more_reads(2);
  EXPECT_THAT(text(loop), HasSubstr("keiko_node_cpus"));
  EXPECT_THAT(text(loop), Not(HasSubstr("keiko_device_power_watts")))
      << "what a source said before it hung is not the present";
  hanging->hold(false);
}

TEST_F(TelemetryLoopTest, ends_though_a_source_never_comes_back) {
  {
    TelemetryLoop loop(options_, clock_);
    source_->hold(true);
    loop.add("devices", source_);
    source_->wait_for_reads(1);
  }
  source_->hold(false);  // and coming back later does no harm
}

TEST_F(TelemetryLoopTest, counts_what_fails_and_goes_on) {
  source_->fails = true;
  TelemetryLoop loop(options_, clock_);
  loop.add("devices", source_);
  source_->wait_for_reads(3);
  const std::string said = text(loop);
  EXPECT_THAT(said, Not(HasSubstr("sample_age_seconds"))) << "none has succeeded";
  EXPECT_THAT(said, Not(HasSubstr("sample_failures_total{node=\"n1\",source=\"devices\"} 0")));
}

TEST_F(TelemetryLoopTest, tells_its_listener_once_an_interval_however_many_sources_there_are) {
  options_.every = seconds(1);
  TelemetryLoop loop(options_, clock_);
  std::mutex mutex;
  std::condition_variable told;
  int count = 0;
  loop.on_readings([&](const std::vector<Reading>& readings) {
    const std::lock_guard lock(mutex);
    EXPECT_FALSE(readings.empty());
    ++count;
    told.notify_all();
  });
  for (int i = 0; i < 4; ++i) {
    const auto source = std::make_shared<HeldSource>();
    source->subject = {SubjectKind::kNic, "eth" + std::to_string(i)};
    source->values = {{"up", 1}};
    loop.add("source" + std::to_string(i), source);
    source->wait_for_reads(1);
  }
  std::unique_lock lock(mutex);
  told.wait(lock, [&] { return count > 0; });
  lock.unlock();
  loop.on_readings({});
  EXPECT_EQ(count, 1) << "the clock has not moved";
}

}  // namespace
}  // namespace keiko::agent
