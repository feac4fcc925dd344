// An agent without processes: says hello over a real stream, starts what it is told to, serves logs
// from strings. For tests.
#pragma once

#include <map>
#include <set>

#include "ports/testing/host_fake.h"
#include "server/testing/test_server.h"

namespace keiko::server {

class TestAgent : public AgentListener {
 public:
  TestAgent(const std::string& name, const std::string& address, int devices = 4)
      : address_(address), link_(make_agent_link(*this)) {
    node_.name = name;
    node_.instance = "instance-of-" + name;
    node_.address = "127.0.0.1";
    node_.cpu_milli = 64'000;
    node_.memory = gibibytes(64);
    node_.host = fake_host();
    for (int i = 0; i < devices; ++i) {
      node_.devices.push_back({name + "-" + std::to_string(i), "cpu", "", i, 0, gibibytes(1)});
    }
    link_->open(address_);
    heart_ = std::jthread([this](std::stop_token stop) { beat(stop); });
  }

  ~TestAgent() override {
    heart_ = {};
    link_->close();
  }

  /// Sets what a worker has written; `ended` with the worker.
  void write_log(const WorkerKey& key, const std::string& text) {
    const std::lock_guard lock(mutex_);
    logs_[key] += text;
    serve_logs_locked();
  }

  void end_worker(const WorkerKey& key, int exit_code) {
    const std::lock_guard lock(mutex_);
    WorkerReport& report = workers_[key];
    report.status = WorkerStatus::kEnded;
    report.end.cause = EndCause::kExited;
    report.end.exit_code = exit_code;
    report_locked();
    serve_logs_locked();
  }

  bool has_worker(const WorkerKey& key) {
    const std::lock_guard lock(mutex_);
    return workers_.count(key) != 0 && workers_[key].status == WorkerStatus::kRunning;
  }
  bool welcomed() {
    const std::lock_guard lock(mutex_);
    return session_.term != 0;
  }
  uint64_t acks() { return locked(acks_); }
  int welcomes() { return locked(welcomes_); }
  std::string refused() {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  void report() {
    const std::lock_guard lock(mutex_);
    report_locked();
  }
  template <class T> bool tell(const T& news) { return link_->send(news).ok(); }
  void drop() { link_->close(); }
  void reopen() {
    EXPECT_TRUE(eventually([&] { return is_closed(); }));
    link_->open(address_);
  }
  bool is_closed() {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  void on_connected() override {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    AgentHello hello{node_, {}};
    for (const auto& [key, report] : workers_) hello.workers.push_back(report);
    EXPECT_TRUE(link_->send(hello).ok());
  }

  void on_message(ServerMessage message) override {
    const std::lock_guard lock(mutex_);
    if (const auto* refusal = std::get_if<Refused>(&message.body)) {
      refused_ = refusal->why;
    } else if (std::holds_alternative<Welcome>(message.body)) {
      session_ = message.session;
      sequence_ = 0;
      ++welcomes_;
    } else if (std::holds_alternative<ReportAck>(message.body)) {
      ++acks_;
    } else if (const auto* start = std::get_if<StartWorker>(&message.body)) {
      WorkerReport& report = workers_[start->launch.key];
      report.key = start->launch.key;
      report.status = WorkerStatus::kRunning;
      report.pid = 4711;
      report.master_port = 29500;
      report_locked();
    } else if (const auto* stop = std::get_if<StopWorker>(&message.body)) {
      WorkerReport& report = workers_[stop->key];
      report.key = stop->key;
      report.status = WorkerStatus::kEnded;
      report.end.cause = EndCause::kStopped;
      report_locked();
    } else if (const auto* forget = std::get_if<ForgetWorker>(&message.body)) {
      workers_.erase(forget->key);
      ended_.insert(forget->key);
      serve_logs_locked();
    }
  }

  void on_log_read(LogRead read) override {
    const std::lock_guard lock(mutex_);
    reads_[read.request] = read;
    serve_logs_locked();
  }
  void on_log_cancel(uint64_t request) override {
    const std::lock_guard lock(mutex_);
    reads_.erase(request);
  }
  void on_closed(Error) override {
    const std::lock_guard lock(mutex_);
    reads_.clear();
    session_ = {};
    closed_ = true;
  }

 private:
  template <class T> T locked(const T& value) {
    const std::lock_guard lock(mutex_);
    return value;
  }
  /// Keeps the lease, however slow the machine is.
  void beat(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      report_locked();
      pause_.wait_for(lock, stop, std::chrono::milliseconds(500), [] { return false; });
    }
  }

  void report_locked() {
    if (session_.term == 0) return;
    AgentReport report{session_, ++sequence_, {}};
    for (const auto& [key, worker] : workers_) report.workers.push_back(worker);
    (void)link_->send(report);
  }

  void serve_logs_locked() {
    for (auto read = reads_.begin(); read != reads_.end();) {
      read = serve_locked(read->second) ? reads_.erase(read) : std::next(read);
    }
  }

  /// RETURNS: whether the read is over.
  bool serve_locked(LogRead& read) {
    const auto worker = workers_.find(read.key);
    const bool ended = ended_.count(read.key) != 0 ||
                       (worker != workers_.end() && worker->second.status == WorkerStatus::kEnded);
    static const std::string kNothing;
    const std::string& text = read.stream == LogStream::kOut ? logs_[read.key] : kNothing;
    const int64_t size = static_cast<int64_t>(text.size());
    if (read.offset < 0) read.offset = std::max<int64_t>(0, size + read.offset);
    const int64_t count = std::min({size - read.offset, read.max_bytes, int64_t{kMaxLogChunk}});
    LogChunk chunk{read.request, read.offset, {}, false, false, {}};
    if (count > 0)
      chunk.data = text.substr(static_cast<size_t>(read.offset), static_cast<size_t>(count));
    read.offset += std::max<int64_t>(count, 0);
    read.max_bytes -= std::max<int64_t>(count, 0);
    chunk.eof = read.offset >= size;
    chunk.ended = chunk.eof && ended;
    if (chunk.data.empty() && !chunk.ended && read.follow) return false;
    (void)link_->send(chunk);
    if (chunk.ended || read.max_bytes <= 0 || (chunk.eof && !read.follow)) return true;
    return !chunk.eof ? serve_locked(read) : false;
  }

  std::string address_;
  NodeSpec node_;
  std::mutex mutex_;
  Session session_;
  uint64_t sequence_ = 0;
  uint64_t acks_ = 0;
  int welcomes_ = 0;
  bool closed_ = true;
  std::string refused_;
  std::map<WorkerKey, WorkerReport> workers_;
  std::set<WorkerKey> ended_;
  std::map<WorkerKey, std::string> logs_;
  std::map<uint64_t, LogRead> reads_;
  std::condition_variable_any pause_;
  std::jthread heart_;
  std::unique_ptr<AgentLink> link_;  // last: its callbacks use the rest
};

}  // namespace keiko::server
