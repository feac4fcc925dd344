#include "wire/agent_client.h"

#include <grpc/grpc.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <condition_variable>
#include <mutex>

namespace keiko {
namespace {

/// Counts the streams that ended.
class Counting : public AgentListener {
 public:
  void on_connected() override {}
  void on_message(ServerMessage) override {}
  void on_log_read(LogRead) override {}
  void on_log_cancel(uint64_t) override {}
  void on_closed(Error) override {
    const std::lock_guard lock(mutex_);
    ++closed_;
    changed_.notify_all();
  }
  void wait_for(int closed) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ >= closed; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int closed_ = 0;
};

/// Bytes of the heap in use; 0 where a sanitizer has replaced the allocator.
size_t heap_bytes() { return mallinfo2().uordblks; }

TEST(AgentLink, dialling_a_server_that_is_away_for_long_costs_no_memory) {
  Counting listener;
  const auto link = make_agent_link(listener);
  size_t before = 0;
  for (int dial = 1; dial <= 1600; ++dial) {
    link->open("127.0.0.1:1");  // nothing listens there
    listener.wait_for(dial);
    if (dial == 100) before = heap_bytes();
  }
  // A stream that is kept costs about 34 kB.
  EXPECT_LT(heap_bytes(), before + 1500 * 4096);
}

// Its threads would end at the same time as the process, and meet the destructors of its statics.
TEST(AgentLink, never_has_grpc_torn_down) {
  Counting listener;
  auto link = make_agent_link(listener);
  link->open("127.0.0.1:1");
  listener.wait_for(1);
  link.reset();
  EXPECT_EQ(grpc_is_initialized(), 1);
}

}  // namespace
}  // namespace keiko
