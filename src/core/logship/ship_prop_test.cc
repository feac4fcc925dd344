// Two machines, a wire that breaks and a disk that forgets: whatever dies when, each byte arrives
// once and in its place.
#include <gtest/gtest.h>

#include <deque>

#include "base/prng.h"
#include "core/logship/ship_state.h"

namespace keiko::logship {
namespace {

const ShipOptions kSmall{8, 24, 40};

/// A server that has some bytes on its disk and some only in memory.
struct FakeKeeper {
  struct Log {
    std::string text;
    size_t durable = 0;
    bool ended = false;
    bool ended_durable = false;
  };
  std::map<LogName, Log> logs;
  bool full = false;

  LogReceipt take(const LogShipment& shipment) {
    Log& log = logs[shipment.name];
    const auto size = static_cast<int64_t>(log.text.size());
    LogReceipt receipt{shipment.name, size, log.ended_durable, false, false, {}};
    const bool question = shipment.data.empty() && !shipment.ended;
    if (log.ended_durable || (question && !full)) return receipt;
    const Acceptance acceptance = accept(size, shipment);
    if (full) receipt.paused = "full";
    receipt.rewind = acceptance.gap || full;
    if (receipt.rewind) return receipt;
    log.text += shipment.data.substr(acceptance.skip);
    log.ended = acceptance.ends;
    receipt.written = static_cast<int64_t>(log.text.size());
    return receipt;
  }
  std::vector<LogReceipt> sync() {
    std::vector<LogReceipt> receipts;
    for (auto& [name, log] : logs) {
      log.durable = log.text.size();
      log.ended_durable = log.ended;
      const auto size = static_cast<int64_t>(log.durable);
      receipts.push_back({name, size, log.ended_durable, false, false, {}});
    }
    return receipts;
  }
  /// Of what was not durable any part may be gone, a write in the middle included.
  void lose_power(Prng& prng) {
    for (auto& [name, log] : logs) {
      const size_t loose = log.text.size() - log.durable;
      log.text.resize(log.durable + prng.below(loose + 1));
      log.ended = log.ended_durable;
    }
  }
};

class World {
 public:
  explicit World(uint64_t seed) : prng_(seed) {
    for (int rank = 0; rank < 3; ++rank) {
      files_[{{JobId{1}, 1, rank}, LogStream::kOut}] = {};
      files_[{{JobId{1}, 1, rank}, LogStream::kErr}] = {};
    }
  }

  void run() {
    for (int step = 0; step < 2000; ++step) {
      one_step();
      ASSERT_LE(agent_.in_flight(), kSmall.total_window);
      if (step % 16 == 0) check_prefixes();
    }
    settle();
    for (auto& [name, file] : files_) {
      EXPECT_EQ(keeper_.logs[name].text, file.text) << to_text(name);
      EXPECT_TRUE(keeper_.logs[name].ended_durable) << to_text(name);
    }
    EXPECT_TRUE(agent_.empty());
  }

 private:
  struct File { std::string text; bool ended = false; };

  void one_step() {
    switch (prng_.below(12)) {
      case 0: case 1: grow(); break;
      case 2: case 3: case 4: send(); break;
      case 5: case 6: case 7: deliver(); break;
      case 8: for (LogReceipt& receipt : keeper_.sync()) down_.push_back(receipt); break;
      case 9: if (prng_.chance(1, 10)) break_call(); else open_call(); break;
      case 10: if (prng_.chance(1, 30)) restart_agent(); agent_.try_again(); break;
      case 11: rare(); break;
    }
  }

  void rare() {
    if (prng_.chance(1, 4)) keeper_.full = !keeper_.full;
    if (!prng_.chance(1, 30)) return;
    break_call();
    if (prng_.chance(1, 2)) keeper_.lose_power(prng_);
  }

  void grow() {
    auto file = files_.begin();
    std::advance(file, prng_.below(files_.size()));
    if (file->second.ended) return;
    const auto count = static_cast<size_t>(prng_.below(20));
    for (size_t i = 0; i < count; ++i) {
      file->second.text += static_cast<char>('a' + file->second.text.size() % 23);
    }
    tell_size(file->first, file->second);
  }

  void tell_size(const LogName& name, const File& file) {
    const auto size = static_cast<int64_t>(file.text.size());
    agent_.set_size(name, size, file.ended);
  }

  void send() {
    if (const auto order = agent_.next()) {
      up_.push_back({order->name, order->offset,
                     files_[order->name].text.substr(static_cast<size_t>(order->offset),
                                                     static_cast<size_t>(order->count)),
                     order->ended});
    }
  }

  void deliver() {
    if (!up_.empty()) {
      down_.push_back(keeper_.take(up_.front()));
      up_.pop_front();
    }
    if (down_.empty()) return;
    agent_.take(down_.front());
    down_.pop_front();
    agent_.take_complete();
  }

  void open_call() {
    if (open_) return;
    open_ = true;
    agent_.set_open(true);
  }
  void break_call() {
    // What was on its way may still arrive at the server, as far as it came.
    const uint64_t arrives = prng_.below(up_.size() + 1);
    for (uint64_t i = 0; i < arrives; ++i) keeper_.take(up_[i]);
    up_.clear();
    down_.clear();
    open_ = false;
    agent_.set_open(false);
  }
  void restart_agent() {
    break_call();
    agent_ = ShipState(kSmall);
    for (const auto& [name, file] : files_) tell_size(name, file);
  }

  void check_prefixes() {
    for (const auto& [name, log] : keeper_.logs) {
      ASSERT_TRUE(files_[name].text.starts_with(log.text)) << to_text(name);
    }
  }

  void settle() {
    keeper_.full = false;
    for (auto& [name, file] : files_) {
      file.ended = true;
      if (!keeper_.logs[name].ended_durable) tell_size(name, file);
    }
    open_call();
    for (int round = 0; round < 10'000 && !agent_.empty(); ++round) {
      agent_.try_again();
      send();
      deliver();
      if (round % 8 == 0) {
        for (LogReceipt& receipt : keeper_.sync()) down_.push_back(receipt);
      }
    }
  }

  Prng prng_;
  std::map<LogName, File> files_;
  ShipState agent_{kSmall};
  FakeKeeper keeper_;
  std::deque<LogShipment> up_;
  std::deque<LogReceipt> down_;
  bool open_ = false;
};

TEST(Shipping, loses_and_repeats_no_byte_whatever_dies) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed=" + std::to_string(seed));
    World(seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace keiko::logship
