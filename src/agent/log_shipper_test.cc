// The shipper over real files and a server in memory.
#include "agent/log_shipper.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/log.h"

namespace keiko::agent {
namespace {

namespace fs = std::filesystem;

constexpr WorkerKey kKey{JobId{7}, 1, 0};
const LogName kOut{kKey, LogStream::kOut};
const LogName kErr{kKey, LogStream::kErr};

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// The other end: takes everything at once, unless it is told to be full or to hang up.
class FakeServer {
 public:
  std::string text(const LogName& name) {
    const std::lock_guard lock(mutex_);
    return logs_[name];
  }
  size_t shipments() {
    const std::lock_guard lock(mutex_);
    return shipments_;
  }
  void forget(const LogName& name, size_t keep) {
    const std::lock_guard lock(mutex_);
    logs_[name].resize(keep);
  }
  LogReceipt take(const LogShipment& shipment) {
    const std::lock_guard lock(mutex_);
    ++shipments_;
    std::string& log = logs_[shipment.name];
    LogReceipt receipt;
    receipt.name = shipment.name;
    const auto size = static_cast<int64_t>(log.size());
    const logship::Acceptance acceptance = logship::accept(size, shipment);
    receipt.rewind = acceptance.gap || full;
    if (full) receipt.paused = "no room";
    if (!receipt.rewind) log += shipment.data.substr(acceptance.skip);
    receipt.written = static_cast<int64_t>(log.size());
    receipt.complete = !receipt.rewind && acceptance.ends;
    return receipt;
  }
  std::atomic<bool> full = false;
  std::atomic<bool> up = true;

 private:
  std::mutex mutex_;
  std::map<LogName, std::string> logs_;
  size_t shipments_ = 0;
};

class FakeShipLink : public LogShipLink {
 public:
  FakeShipLink(FakeServer& server, LogShipListener& listener)
      : server_(server), listener_(listener) {}
  void open(const std::string&) override {
    if (server_.up) listener_.on_ship_opened();
    else listener_.on_ship_closed(unavailable("nobody answers"));
  }
  Done send(LogShipment shipment) override {
    if (!server_.up) {
      listener_.on_ship_closed(unavailable("the call broke"));
      return unavailable("no call");
    }
    listener_.on_receipt(server_.take(shipment));
    return done();
  }
  void close() override {}

 private:
  FakeServer& server_;
  LogShipListener& listener_;
};

class LogShipperTest : public testing::Test {
 protected:
  LogShipperTest() {
    set_log_level(LogLevel::kOff);
    std::string pattern = testing::TempDir() + "keiko_ship_XXXXXX";
    options_.state_dir = mkdtemp(pattern.data());
    options_.redial_first = milliseconds(5);
    options_.redial_most = milliseconds(20);
    options_.ask_again = milliseconds(20);
    fs::create_directories(options_.state_dir + "/logs/j7/1");
    start();
  }
  ~LogShipperTest() override {
    shipper_.reset();
    fs::remove_all(options_.state_dir);
    set_log_level(LogLevel::kInfo);
  }
  void start() {
    shipper_.reset();
    shipper_ = std::make_unique<LogShipper>(
        options_,
        [this](LogShipListener& listener) {
          return std::make_unique<FakeShipLink>(server_, listener);
        },
        [this] { ++told_; });
  }
  std::string path(const std::string& file) const {
    return options_.state_dir + "/logs/j7/1/" + file;
  }
  void print(const std::string& text, const std::string& file = "0.out") {
    std::ofstream(path(file), std::ios::app) << text;
    if (file == "0.out") printed_ += text;
  }
  bool arrives() {
    return eventually([&] { return server_.text(kOut) == printed_; });
  }

  LogShipOptions options_;
  FakeServer server_;
  std::atomic<int> told_ = 0;
  std::string printed_;
  std::unique_ptr<LogShipper> shipper_;
};

TEST_F(LogShipperTest, ships_what_a_worker_prints_while_it_runs) {
  shipper_->set_live(kKey, true);
  for (int i = 0; i < 20; ++i) {
    print("line " + std::to_string(i) + "\n");
    ASSERT_TRUE(arrives());
  }
  EXPECT_TRUE(shipper_->is_shipping(kKey));
}

TEST_F(LogShipperTest, says_when_all_of_an_ended_worker_has_arrived) {
  shipper_->set_live(kKey, true);
  print("out");
  print("err", "0.err");
  shipper_->set_live(kKey, false);
  EXPECT_TRUE(eventually([&] { return told_ > 0 && !shipper_->is_shipping(kKey); }));
  EXPECT_EQ(server_.text(kOut), "out");
  EXPECT_EQ(server_.text(kErr), "err");
  EXPECT_TRUE(fs::exists(path("0.shipped")));
}

TEST_F(LogShipperTest, line_by_line_costs_few_shipments) {
  shipper_->set_live(kKey, true);
  for (int i = 0; i < 2000; ++i) print("line " + std::to_string(i) + "\n");
  ASSERT_TRUE(arrives());
  EXPECT_LT(server_.shipments(), 500u);
}

TEST_F(LogShipperTest, megabytes_that_wait_are_shipped_whole) {
  server_.up = false;
  shipper_->set_live(kKey, true);
  std::string text;
  while (text.size() < (3u << 20)) text += std::to_string(text.size()) + "\n";
  print(text);
  EXPECT_FALSE(shipper_->is_shipping(kKey));
  server_.up = true;
  ASSERT_TRUE(eventually([&] { return server_.text(kOut).size() == text.size(); }));
  EXPECT_TRUE(server_.text(kOut) == text);
}

TEST_F(LogShipperTest, goes_on_where_a_server_that_forgot_is) {
  shipper_->set_live(kKey, true);
  print("abcdef");
  ASSERT_TRUE(arrives());
  server_.forget(kOut, 2);
  print("ghi");
  EXPECT_TRUE(arrives()) << server_.text(kOut);
}

TEST_F(LogShipperTest, a_server_without_room_holds_no_end_up_and_gets_all_later) {
  server_.full = true;
  shipper_->set_live(kKey, true);
  print("abc");
  shipper_->set_live(kKey, false);
  EXPECT_TRUE(eventually([&] { return told_ > 0 && !shipper_->is_shipping(kKey); }));
  server_.full = false;
  EXPECT_TRUE(arrives());
  EXPECT_TRUE(eventually([&] { return fs::exists(path("0.shipped")); }));
}

TEST_F(LogShipperTest, the_next_agent_ships_what_the_last_one_left) {
  print("left over");
  shipper_->adopt();
  EXPECT_TRUE(arrives());
  EXPECT_TRUE(eventually([&] { return fs::exists(path("0.shipped")); }));
}

TEST_F(LogShipperTest, what_ended_and_arrived_goes_by_number_and_size_as_it_runs) {
  options_.retention.workers = 2;
  start();
  shipper_->adopt();
  fs::create_directories(options_.state_dir + "/workers/j7.1.1");  // its end is not told
  for (int rank = 0; rank < 4; ++rank) {
    shipper_->set_live({JobId{7}, 1, rank}, true);
    print("rank " + std::to_string(rank), std::to_string(rank) + ".out");
    if (rank < 3) shipper_->set_live({JobId{7}, 1, rank}, false);
  }
  const auto left = [&] {
    std::set<std::string> names;
    for (const auto& file : fs::directory_iterator(options_.state_dir + "/logs/j7/1")) {
      const std::string name = file.path().filename();
      if (name.ends_with(".out")) names.insert(name);
    }
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_TRUE(eventually([&] { return left() == Names{"1.out", "3.out"}; }))
      << "one whose end is not told and one that runs";
  EXPECT_EQ(server_.text({{JobId{7}, 1, 2}, LogStream::kOut}), "rank 2");
}

TEST_F(LogShipperTest, what_the_server_does_not_have_stays_on_a_disk_without_room) {
  server_.full = true;
  shipper_->adopt();
  shipper_->set_live(kKey, true);
  print("only here");
  shipper_->set_live(kKey, false);
  ASSERT_TRUE(eventually([&] { return told_ > 0; }));
  shipper_->set_short_of_room(true);
  std::ofstream(path("1.out")) << "the server's as well";
  std::ofstream(path("1.shipped")).close();
  ASSERT_TRUE(eventually([&] { return !fs::exists(path("1.out")); }));
  EXPECT_TRUE(fs::exists(path("0.out")));
  server_.full = false;
  EXPECT_TRUE(arrives());
  EXPECT_TRUE(eventually([&] { return !fs::exists(path("0.out")); })) << "now it may go";
}

TEST_F(LogShipperTest, what_the_server_has_for_long_is_removed_here) {
  print("old");
  std::ofstream(path("0.shipped")).close();
  options_.retention.keep = seconds(0);
  start();
  shipper_->adopt();
  EXPECT_TRUE(eventually([&] { return !fs::exists(options_.state_dir + "/logs/j7"); }));
  EXPECT_EQ(server_.shipments(), 0u);
}

}  // namespace
}  // namespace keiko::agent
