// A whole server on loopback for tests: real gRPC and HTTP on free ports, a journal on a fake disk.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/log.h"
#include "ports/journal_fake.h"
#include "server/server.h"
#include "wire/agent_client.h"
#include "wire/client.h"

namespace keiko::server {

/// A clock from the steady one: safe from any thread.
class SteadyClock : public Clock {
 public:
  explicit SteadyClock(Time floor) : floor_(std::max(floor, Time{1'796'000'000'000'000'000})) {}
  Time now() override {
    return floor_ + nanoseconds((std::chrono::steady_clock::now() - start_).count());
  }
  WallTime wall() override { return {now().ns}; }

 private:
  const Time floor_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A FakeJournal whose disk a test may touch while the server runs.
class LockedJournal : public Journal {
 public:
  explicit LockedJournal(std::shared_ptr<FakeJournalDisk> disk) : disk_(disk), journal_(disk) {}

  template <class F>
  auto with(F f) {
    const std::lock_guard lock(mutex_);
    return f();
  }

  Result<Term> acquire() override { return with([&] { return journal_.acquire(); }); }
  Done append(std::span<const std::string> records) override {
    return with([&] { return journal_.append(records); });
  }
  Result<std::vector<JournalRecord>> read(uint64_t from, size_t max_records) override {
    return with([&] { return journal_.read(from, max_records); });
  }
  Done snapshot(uint64_t upto_sequence, std::string_view bytes) override {
    return with([&] { return journal_.snapshot(upto_sequence, bytes); });
  }
  Result<std::optional<JournalSnapshot>> latest_snapshot() override {
    return with([&] { return journal_.latest_snapshot(); });
  }

  const std::shared_ptr<FakeJournalDisk>& disk() { return disk_; }

 private:
  std::mutex mutex_;
  std::shared_ptr<FakeJournalDisk> disk_;
  FakeJournal journal_;
};

class TestServer {
 public:
  explicit TestServer(std::shared_ptr<FakeJournalDisk> disk = std::make_shared<FakeJournalDisk>(),
                      ServerOptions options = {})
      : journal_(std::move(disk)), options_(std::move(options)) {
    set_log_level(LogLevel::kError);
    options_.grpc_port = 0;
    options_.http_port = 0;
    start();
  }

  ~TestServer() { (void)stop(); }

  /// RETURNS: how run_server ended.
  Done stop() {
    stop_.request_stop();
    if (thread_.joinable()) thread_.join();
    return ended_;
  }

  /// Waits until run_server ended by itself.
  Done wait_for_end() {
    thread_.join();
    return ended_;
  }

  /// Runs `f(disk)` while the server does not use the disk.
  template <class F>
  void on_disk(F f) {
    journal_.with([&] { f(journal_.disk()); return 0; });
  }
  const ServerAddresses& addresses() const { return addresses_; }
  std::unique_ptr<Client> client() {
    return make_client({addresses_.grpc, seconds(60), seconds(10)});
  }

 private:
  void start() {
    Recovery recovery = MUST(recover(journal_));
    clock_.emplace(recovery.replayed.state.now);
    std::mutex mutex;
    std::condition_variable changed;
    bool ready = false;
    thread_ = std::thread([&, recovery = std::move(recovery)]() mutable {
      ended_ = run_server(options_, journal_, *clock_, std::move(recovery), stop_.get_token(),
                          [&](const ServerAddresses& addresses) {
                            const std::lock_guard lock(mutex);
                            addresses_ = addresses;
                            ready = true;
                            changed.notify_all();
                          });
    });
    std::unique_lock lock(mutex);
    const bool came = changed.wait_for(lock, std::chrono::seconds(30), [&] { return ready; });
    if (!came) ADD_FAILURE() << "the server did not come up";
  }

  LockedJournal journal_;
  ServerOptions options_;
  std::optional<SteadyClock> clock_;
  ServerAddresses addresses_;
  std::stop_source stop_;
  Done ended_ = done();
  std::thread thread_;
};

/// RETURNS: whether `condition` came true within ten seconds.
template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

inline v1::SubmitJobRequest submit_of(const std::string& name, int32_t devices = 0,
                                      const std::string& token = {}) {
  v1::SubmitJobRequest request;
  request.mutable_spec()->set_name(name);
  request.mutable_spec()->add_command("/bin/true");
  request.mutable_spec()->set_restarts(3);
  request.mutable_spec()->set_devices(devices);
  request.set_token(token);
  return request;
}

inline std::string status_of(Client& client, const std::string& job) {
  v1::GetJobRequest request;
  request.set_job(job);
  const Result<v1::Job> found = client.get_job(request);
  return found.ok() ? found->status() : found.error().text();
}

}  // namespace keiko::server
