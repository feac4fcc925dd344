#include "server/logs/log_sweeper.h"

#include "ports/logs/log_store_fake.h"
#include "server/testing/test_server.h"

namespace keiko::server {
namespace {

LogName log_of(uint64_t job) { return {{JobId{job}, 1, 0}, LogStream::kOut}; }

TEST(LogSweeper, removes_the_oldest_ended_jobs_logs_and_tells_it) {
  set_log_level(LogLevel::kError);
  auto disk = std::make_shared<FakeLogDisk>();
  FakeLogStore store(disk);
  for (const uint64_t job : {1, 2, 3, 4}) {
    MUST(store.append(log_of(job), std::string(1000, 'x'), true, {}));
  }
  LogOptions options;
  options.sweep_every = milliseconds(5);
  options.retention.total = Bytes{2500};
  std::mutex mutex;
  std::vector<std::string> told;
  LogSweeper sweeper(
      store, options,
      [](const std::vector<JobId>&) -> Result<std::map<JobId, Duration>> {
        // j1 still runs, j4 is not known.
        return std::map<JobId, Duration>{{JobId{2}, minutes(1)}, {JobId{3}, minutes(9)}};
      },
      [&](const std::string& event, const std::string& text) {
        const std::lock_guard lock(mutex);
        told.push_back(event + ": " + text);
      });
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return told.size() == 2;
  }));
  sweeper.stop();
  EXPECT_EQ(told[0].find("logs_removed: the output of j3 was removed"), 0u) << told[0];
  EXPECT_EQ(told[1].find("logs_removed: the output of j2 was removed"), 0u) << told[1];
  EXPECT_TRUE(store.extent(log_of(1)).ok());
  EXPECT_TRUE(store.extent(log_of(4)).ok());
  EXPECT_EQ(store.extent(log_of(2)).error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace keiko::server
