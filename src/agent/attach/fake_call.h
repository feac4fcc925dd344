// An Attach call without a server: a test pushes what the client sends and sees what the agent
// writes. For tests of this room.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "wire/attach/attach_call.h"

namespace keiko::agent {

/// The client's side, which outlives the call.
class FakeClient {
 public:
  void send(v1::AttachFrame frame) {
    const std::lock_guard lock(mutex_);
    to_read_.push_back(std::move(frame));
    changed_.notify_all();
  }
  void send_input(const std::string& data, bool ended = false) {
    v1::AttachFrame frame;
    frame.mutable_data()->set_stream("in");
    frame.mutable_data()->set_data(data);
    frame.mutable_data()->set_ended(ended);
    send(std::move(frame));
  }
  void send_signal(int number) {
    v1::AttachFrame frame;
    frame.set_signal(number);
    send(std::move(frame));
  }
  void hang_up() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  /// While it is held, the agent's writes wait.
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }

  /// Waits for what the agent wrote to be as `condition` says. RETURNS: whether it came so.
  bool sees(const std::function<bool(const std::vector<v1::AttachFrame>&)>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return condition(written_); });
  }
  std::vector<v1::AttachFrame> written() {
    const std::lock_guard lock(mutex_);
    return written_;
  }
  /// RETURNS: all bytes of a stream so far.
  std::string text(const std::string& stream) {
    std::string all;
    for (const v1::AttachFrame& frame : written()) {
      if (frame.has_data() && frame.data().stream() == stream) all += frame.data().data();
    }
    return all;
  }
  /// Waits for the agent's last frame.
  v1::AttachEnd end() {
    const bool came = sees([](const auto& frames) {
      return !frames.empty() && frames.back().has_end();
    });
    v1::AttachEnd none;
    none.set_code("no end was told");
    return came ? written().back().end() : none;
  }
  bool is_cancelled() {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }

 private:
  friend class FakeCall;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::AttachFrame> to_read_;
  std::vector<v1::AttachFrame> written_;
  bool over_ = false;
  bool held_ = false;
  bool cancelled_ = false;
};

class FakeCall : public AttachCall {
 public:
  explicit FakeCall(std::shared_ptr<FakeClient> client) : client_(std::move(client)) {}

  bool read(v1::AttachFrame& frame) override {
    std::unique_lock lock(client_->mutex_);
    client_->changed_.wait(lock, [this] { return !client_->to_read_.empty() || client_->over_; });
    if (client_->to_read_.empty()) return false;
    frame = std::move(client_->to_read_.front());
    client_->to_read_.pop_front();
    return true;
  }
  bool write(const v1::AttachFrame& frame) override {
    std::unique_lock lock(client_->mutex_);
    client_->changed_.wait(lock, [this] { return !client_->held_ || client_->over_; });
    if (client_->over_) return false;
    client_->written_.push_back(frame);
    client_->changed_.notify_all();
    // As the server does: it ends a call whose end it has passed on.
    if (frame.has_end()) client_->over_ = true;
    return true;
  }
  void writes_done() override {}
  void cancel() override {
    const std::lock_guard lock(client_->mutex_);
    client_->cancelled_ = true;
    client_->over_ = true;
    client_->changed_.notify_all();
  }
  Done finish() override { return done(); }

 private:
  const std::shared_ptr<FakeClient> client_;
};

}  // namespace keiko::agent
