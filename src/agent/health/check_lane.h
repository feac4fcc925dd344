// CheckLane: a thread that makes checks, one order after the other, so that the agent's loop never
// waits for one. Its outcomes are told from that thread. Calls are safe from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ports/checks.h"

namespace keiko::agent {

class CheckLane {
 public:
  struct Result {
    uint64_t ticket = 0;
    std::vector<CheckOutcome> outcomes;
    bool broken_off = false;
  };
  using Tell = std::function<void(Result)>;

  /// `in_background`: whatever else runs on the machine goes first.
  CheckLane(std::unique_ptr<Checks> checks, Tell tell, bool in_background);
  /// Breaks off what runs; nothing is told any more afterwards.
  ~CheckLane();

  void start(uint64_t ticket, CheckOrder order);
  /// Breaks the order off, or takes it back; it is told as broken off. Unknown tickets are none.
  void cancel(uint64_t ticket);

 private:
  struct Order {
    uint64_t ticket = 0;
    CheckOrder order;
    std::stop_source stop;
  };
  void work(const std::stop_token& end);

  const std::unique_ptr<Checks> checks_;
  const Tell tell_;
  const bool in_background_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Order> waiting_;
  uint64_t running_ = 0;
  std::stop_source running_stop_;
  std::jthread thread_;
};

}  // namespace keiko::agent
