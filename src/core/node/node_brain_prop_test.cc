// Random lives of a node brain: messages of the right and of wrong sessions, breaks, workers that
// end, time that passes. Whatever the order, the laws of the lease hold.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/prng.h"
#include "core/node/node_fixture.h"

namespace keiko::node {
namespace {

class RandomLife {
 public:
  explicit RandomLife(uint64_t seed) : prng_(seed) {
    node_.after_each_step = [this] { look(); };
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) one();
    if (!testing::Test::HasFailure()) settle();
  }

 private:
  void one() {
    const uint64_t choice = prng_.below(100);
    if (choice < 45) return wait();
    if (choice < 60) return ack_or_connect();
    if (choice < 70) return command_start();
    if (choice < 78) return void(node_.say(StopWorker{any_key(), milliseconds(500), "test"}));
    if (choice < 84) return void(node_.say(ForgetWorker{any_key()}));
    if (choice < 94) return change();
    if (choice < 97) return stale_start();
    break_stream();
  }

  void wait() {
    const bool long_pause = prng_.chance(1, 20);
    const int64_t pause_ms = long_pause ? prng_.between(1000, 20000) : prng_.between(1, 600);
    node_.run_until(node_.now() + milliseconds(pause_ms));
  }
  void ack_or_connect() {
    if (connected_) {
      node_.ack();
    } else {
      connect();
    }
  }
  void connect() {
    connected_ = true;
    node_.connect(++sessions_);
  }
  void break_stream() {
    connected_ = false;
    node_.feed(Disconnected{});
  }
  void command_start() {
    if (connected_) node_.start(any_key(), prng_.chance(1, 2) ? 0 : 21000);
  }
  void stale_start() {
    const size_t before = spawned_.size();
    StartWorker order;
    order.launch.key = NodeFixture::key(1000 + prng_.below(1000));
    node_.feed(FromServer{{{0, sessions_}, 1'000'000, order}});
    EXPECT_EQ(node_.got<Spawn>().size(), 0u);
    EXPECT_EQ(spawned_.size(), before);
  }
  /// Some process runs or ends: only what was spawned has a process.
  void change() {
    if (alive_.empty()) return;
    auto worker = alive_.begin();
    std::advance(worker, static_cast<int64_t>(prng_.below(alive_.size())));
    const WorkerKey key = worker->first;
    if (prng_.chance(1, 2)) {
      node_.changed(NodeFixture::report_of(key, WorkerStatus::kRunning));
      return;
    }
    alive_.erase(worker);
    node_.changed(NodeFixture::ended(key, EndCause::kExited, 1));
  }

  WorkerKey any_key() {
    return NodeFixture::key(1 + prng_.below(6), static_cast<int32_t>(prng_.below(2)));
  }

  /// Holds the effects of one step against the laws.
  void look() {
    for (const Spawn& spawn : node_.got<Spawn>()) {
      EXPECT_LT(node_.now(), node_.brain().lease_end() - LeaseOptions{}.stop_before)
          << "a start while the lease runs out";
      EXPECT_FALSE(alive_.contains(spawn.launch.key)) << "a worker twice";
      alive_[spawn.launch.key] = false;
      spawned_.insert(spawn.launch.key);
    }
    for (const SignalWorker& sent : node_.got<SignalWorker>()) {
      const auto found = alive_.find(sent.key);
      if (found != alive_.end() && sent.signal == SIGKILL) found->second = true;
    }
    // The brain is woken for every deadline, so time alone is no excuse.
    if (node_.now() < node_.brain().lease_end()) return;
    for (const auto& [key, killed] : alive_) {
      EXPECT_TRUE(killed) << to_text(key) << " was not killed before the lease's end";
    }
  }

  /// In the end every process that there ever was is in a report, until the server says forget.
  void settle() {
    if (connected_) break_stream();
    connect();
    node_.run_until(node_.now() + seconds(1));
    std::set<WorkerKey> reported;
    for (const WorkerReport& report : node_.last_report().workers) reported.insert(report.key);
    for (const auto& [key, killed] : alive_) EXPECT_TRUE(reported.contains(key)) << to_text(key);
  }

  Prng prng_;
  NodeFixture node_;
  bool connected_ = false;
  uint64_t sessions_ = 0;
  std::map<WorkerKey, bool> alive_;  ///< processes, and whether each was sent SIGKILL
  std::set<WorkerKey> spawned_;
};

TEST(NodeLife, keeps_the_laws_of_the_lease_in_any_order_of_events) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLife(seed).run(400);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace keiko::node
