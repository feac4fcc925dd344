// The agent's stream over gRPC's callback API.
//
// Each open() makes one Stream, a reactor that the link keeps until gRPC's last callback. A hold
// keeps gRPC from finishing while other threads may still start writes; it is dropped under the
// same lock that closes the door for them.
#include "wire/agent_client.h"

#include <grpc/grpc.h>
#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>

#include <condition_variable>
#include <deque>
#include <mutex>

#include "keiko/v1/agent.grpc.pb.h"
#include "wire/channel.h"
#include "wire/convert.h"
#include "wire/grpc_status.h"
#include "wire/session_mark.h"

namespace keiko {
namespace {

/// Set by a stream's last callback, as the last thing it does. Apart from the stream, so that who
/// waits for it may destroy the stream at once.
class Ending {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
  }
  bool is_set() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  /// Keeps set() waiting meanwhile.
  template <class Act>
  void unless_set(const Act& act) {
    const std::lock_guard lock(mutex_);
    if (!done_) act();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

class Stream : public grpc::ClientBidiReactor<v1::AgentMessage, v1::ServerMessage> {
 public:
  Stream(const std::string& address, AgentListener& listener, const AgentLinkOptions& options)
      : address_(address),
        listener_(listener),
        options_(options),
        stub_(v1::AgentService::NewStub(
            make_channel(address, {options.connect_timeout, options.keepalive_every,
                                   options.keepalive_timeout}))) {}

  void start() {
    stub_->async()->Session(&context_, this);
    AddHold();
    // The alarm may come after the stream's end, and keeps its function as long as it lives.
    alarm_.Set(std::chrono::system_clock::now() +
                   std::chrono::nanoseconds(options_.connect_timeout.ns),
               [this, ending = ending_](bool due) {
                 if (!due) return;
                 ending->unless_set([this] {
                   if (!is_connected()) context_.TryCancel();
                 });
               });
    StartCall();
  }

  Done send(v1::AgentMessage message) {
    const size_t size = message.ByteSizeLong();
    const std::lock_guard lock(mutex_);
    if (!connected_ || !holding_) return unavailable("no stream to the server at " + address_);
    if (message.has_log_chunk() && queued_bytes_ + size > options_.log_buffer_bytes) {
      return resource_exhausted("the server does not take the log chunks sent so far");
    }
    if (message.has_readings() && !queue_.empty()) {
      return resource_exhausted("the stream is busy; newer readings will come");
    }
    queued_bytes_ += size;
    queue_.push_back(std::move(message));
    if (queue_.size() == 1) StartWrite(&queue_.front());
    return done();
  }

  void cancel() {
    context_.TryCancel();
    let_go();
  }

  void wait_until_done() { ending_->wait(); }
  bool is_done() { return ending_->is_set(); }

 private:
  bool is_connected() {
    const std::lock_guard lock(mutex_);
    return connected_;
  }

  void OnReadInitialMetadataDone(bool ok) override {
    // A call that failed before it reached a server may still come here with ok.
    if (!ok || context_.GetServerInitialMetadata().count(kSessionMark) == 0) return let_go();
    {
      const std::lock_guard lock(mutex_);
      connected_ = true;
    }
    alarm_.Cancel();
    listener_.on_connected();
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return let_go();
    deliver();
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      context_.TryCancel();
      return let_go();
    }
    const std::lock_guard lock(mutex_);
    queued_bytes_ -= queue_.front().ByteSizeLong();
    queue_.pop_front();
    if (!queue_.empty() && holding_) StartWrite(&queue_.front());
  }

  void OnDone(const grpc::Status& status) override {
    alarm_.Cancel();
    Error why = status.ok() ? unavailable("the server at " + address_ + " ended the stream")
                            : from_status(status, address_);
    listener_.on_closed(std::move(why));
    const std::shared_ptr<Ending> ending = ending_;
    ending->set();  // nothing of this stream is touched from here on
  }

  void let_go() {
    {
      const std::lock_guard lock(mutex_);
      if (!holding_) return;
      holding_ = false;
    }
    RemoveHold();
  }

  void deliver() {
    if (incoming_.has_log_read()) {
      Result<LogRead> read = from_proto(incoming_.log_read());
      if (read.ok()) listener_.on_log_read(std::move(read).value());
    } else if (incoming_.has_log_cancel()) {
      listener_.on_log_cancel(incoming_.log_cancel().request());
    } else {
      // What this agent does not know is dropped: the server repeats what still matters.
      Result<ServerMessage> message = from_proto(incoming_);
      if (message.ok()) listener_.on_message(std::move(message).value());
    }
  }

  const std::string address_;
  AgentListener& listener_;
  const AgentLinkOptions options_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  grpc::ClientContext context_;
  grpc::Alarm alarm_;
  v1::ServerMessage incoming_;

  const std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();

  std::mutex mutex_;
  std::deque<v1::AgentMessage> queue_;  // the front is being written
  size_t queued_bytes_ = 0;
  bool connected_ = false;
  bool holding_ = true;
};

/// gRPC ends its threads when its last user goes. The last thing of a channel goes on one of those
/// very threads, so that a detached thread does it, which then meets the destructors of a process
/// that exits. So gRPC is never told that all is over.
void keep_grpc() {
  static const bool kept = (grpc_init(), true);
  static_cast<void>(kept);
}

class GrpcAgentLink : public AgentLink {
 public:
  GrpcAgentLink(AgentListener& listener, const AgentLinkOptions& options)
      : listener_(listener), options_(options) {
    keep_grpc();
  }

  ~GrpcAgentLink() override {
    if (!stream_) return;
    stream_->cancel();
    stream_->wait_until_done();
  }

  void open(const std::string& address) override {
    const std::shared_ptr<Stream> old = current();
    // on_closed is a stream's last word, but its callback may not have returned yet.
    if (old) old->wait_until_done();
    auto stream = std::make_shared<Stream>(address, listener_, options_);
    {
      const std::lock_guard lock(mutex_);
      stream_ = stream;
    }
    stream->start();
  }

  Done send(const AgentHello& hello) override {
    v1::AgentMessage message;
    *message.mutable_hello() = to_proto(hello);
    return queue(std::move(message));
  }
  Done send(const AgentReport& report) override {
    v1::AgentMessage message;
    *message.mutable_report() = to_proto(report);
    return queue(std::move(message));
  }
  Done send(const HealthReport& report) override {
    v1::AgentMessage message;
    *message.mutable_health() = to_proto(report);
    return queue(std::move(message));
  }
  Done send(const std::vector<Reading>& readings) override {
    v1::AgentMessage message;
    *message.mutable_readings() = to_proto(readings);
    return queue(std::move(message));
  }
  Done send(const LogChunk& chunk) override {
    v1::AgentMessage message;
    *message.mutable_log_chunk() = to_proto(chunk);
    return queue(std::move(message));
  }

  void close() override {
    const std::shared_ptr<Stream> stream = current();
    if (stream && !stream->is_done()) stream->cancel();
  }

 private:
  std::shared_ptr<Stream> current() {
    const std::lock_guard lock(mutex_);
    return stream_;
  }

  Done queue(v1::AgentMessage message) {
    const std::shared_ptr<Stream> stream = current();
    if (!stream) return unavailable("no stream was opened");
    return stream->send(std::move(message));
  }

  AgentListener& listener_;
  const AgentLinkOptions options_;
  std::mutex mutex_;
  std::shared_ptr<Stream> stream_;
};

}  // namespace

std::unique_ptr<AgentLink> make_agent_link(AgentListener& listener,
                                           const AgentLinkOptions& options) {
  return std::make_unique<GrpcAgentLink>(listener, options);
}

}  // namespace keiko
