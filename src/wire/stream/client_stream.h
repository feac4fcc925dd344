// ClientStream: the dialling end of a stream in both directions over gRPC's callback API.
//
// Each object is one call, which its slot keeps until gRPC's last callback. A hold keeps gRPC from
// finishing while other threads may still start writes; it is dropped under the same lock that
// closes the door for them. Only .cc files that speak gRPC include this. send() and cancel() are
// safe from any thread.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/time.h"
#include "wire/grpc_status.h"
#include "wire/session_mark.h"
#include "wire/stream/ending.h"

namespace keiko {

/// Called from gRPC's threads, never two at once; on_closed is the last call and comes once.
template <class Down>
struct ClientStreamCalls {
  std::function<void()> on_connected;
  std::function<void(Down&)> on_message;
  std::function<void(Error)> on_closed;
};

template <class Up, class Down>
class ClientStream : public grpc::ClientBidiReactor<Up, Down> {
 public:
  using Reactor = grpc::ClientBidiReactor<Up, Down>;
  /// Binds the reactor to the stub's method; what it owns lives as long as the stream.
  using Begin = std::function<void(grpc::ClientContext*, Reactor*)>;

  ClientStream(std::string address, ClientStreamCalls<Down> calls, Begin begin)
      : address_(std::move(address)), calls_(std::move(calls)), begin_(std::move(begin)) {}

  void start(Duration connect_timeout) {
    begin_(&context_, this);
    this->AddHold();
    // The alarm may come after the stream's end, and keeps its function as long as it lives.
    alarm_.Set(std::chrono::system_clock::now() + std::chrono::nanoseconds(connect_timeout.ns),
               [this, ending = ending_](bool due) {
                 if (!due) return;
                 ending->unless_set([this] {
                   if (!is_connected()) context_.TryCancel();
                 });
               });
    this->StartCall();
  }

  /// RETURNS: kUnavailable without an open call; kResourceExhausted, and nothing queued, if more
  /// than `most_queued` bytes would wait then.
  Done send(Up message, size_t most_queued = SIZE_MAX) {
    const size_t size = message.ByteSizeLong();
    const std::lock_guard lock(mutex_);
    if (!connected_ || !holding_) return unavailable("no stream to the server at " + address_);
    if (queued_bytes_ + size > most_queued) {
      return resource_exhausted("the server does not take what was sent so far");
    }
    queued_bytes_ += size;
    queue_.push_back(std::move(message));
    if (queue_.size() == 1) this->StartWrite(&queue_.front());
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
    calls_.on_connected();
    this->StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return let_go();
    calls_.on_message(incoming_);
    this->StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) {
      context_.TryCancel();
      return let_go();
    }
    const std::lock_guard lock(mutex_);
    queued_bytes_ -= queue_.front().ByteSizeLong();
    queue_.pop_front();
    if (!queue_.empty() && holding_) this->StartWrite(&queue_.front());
  }

  void OnDone(const grpc::Status& status) override {
    alarm_.Cancel();
    Error why = status.ok() ? unavailable("the server at " + address_ + " ended the stream")
                            : from_status(status, address_);
    calls_.on_closed(std::move(why));
    const std::shared_ptr<Ending> ending = ending_;
    ending->set();  // nothing of this stream is touched from here on
  }

  void let_go() {
    {
      const std::lock_guard lock(mutex_);
      if (!holding_) return;
      holding_ = false;
    }
    this->RemoveHold();
  }

  const std::string address_;
  const ClientStreamCalls<Down> calls_;
  const Begin begin_;
  grpc::ClientContext context_;
  grpc::Alarm alarm_;
  Down incoming_;

  const std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();

  std::mutex mutex_;
  std::deque<Up> queue_;  // the front is being written
  size_t queued_bytes_ = 0;
  bool connected_ = false;
  bool holding_ = true;
};

}  // namespace keiko
