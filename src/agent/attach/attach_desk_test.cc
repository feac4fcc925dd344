#include "agent/attach/attach_desk.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "agent/attach/fake_call.h"
#include "base/log.h"
#include "ports/attach/worker_door_fake.h"

namespace keiko::agent {
namespace {

constexpr WorkerKey kKey{JobId{7}, 1, 0};
constexpr size_t kMost = AttachDesk::kMostSittings;

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class AttachDeskTest : public testing::Test {
 protected:
  AttachDeskTest() {
    set_log_level(LogLevel::kError);
    door_.begin_worker(kKey);
    desk_ = std::make_unique<AttachDesk>(door_, [this] {
      const std::lock_guard lock(mutex_);
      clients_.push_back(std::make_shared<FakeClient>());
      return std::make_unique<FakeCall>(clients_.back());
    });
  }
  ~AttachDeskTest() override {
    desk_.reset();
    set_log_level(LogLevel::kInfo);
  }

  /// Presence costs the fewest descriptors.
  void order() {
    v1::AttachOrder order;
    order.set_token("t");
    order.mutable_key()->set_job(kKey.job.number);
    order.mutable_key()->set_attempt(kKey.attempt);
    order.mutable_open()->set_presence(true);
    desk_->serve(std::move(order));
  }
  std::vector<std::shared_ptr<FakeClient>> clients() {
    const std::lock_guard lock(mutex_);
    return clients_;
  }

  FakeWorkerDoor door_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<FakeClient>> clients_;
  std::unique_ptr<AttachDesk> desk_;
};

TEST_F(AttachDeskTest, closing_it_ends_every_visit) {
  for (int i = 0; i < 5; ++i) order();
  ASSERT_TRUE(eventually([&] { return door_.count() == 5; }));
  desk_.reset();
  EXPECT_EQ(door_.count(), 0u);
  for (const auto& client : clients()) EXPECT_TRUE(client->is_cancelled());
}

TEST_F(AttachDeskTest, whoever_comes_when_all_places_are_taken_is_told_and_disturbs_nobody) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const rlim_t wanted = 4096;
  if (files.rlim_max < wanted) {
    GTEST_SKIP() << "needs 4096 open files, and the hard limit is " << files.rlim_max;
  }
  files.rlim_cur = std::max<rlim_t>(files.rlim_cur, wanted);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);

  for (size_t i = 0; i < kMost; ++i) order();
  ASSERT_TRUE(eventually([&] { return door_.count() == kMost; }));
  order();
  ASSERT_TRUE(eventually([&] { return clients().size() == kMost + 1; }));
  const v1::AttachEnd refused = clients().back()->end();
  EXPECT_EQ(refused.code(), "resource_exhausted");
  EXPECT_NE(refused.message().find("end some and try again"), std::string::npos)
      << refused.message();
  EXPECT_EQ(door_.count(), kMost);

  clients().front()->hang_up();
  ASSERT_TRUE(eventually([&] { return door_.count() == kMost - 1; }));
  // Its place is free a moment after its visit is gone.
  EXPECT_TRUE(eventually([&] {
    order();
    return door_.count() == kMost;
  }));
}

}  // namespace
}  // namespace keiko::agent
