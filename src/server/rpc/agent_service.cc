// An agent's stream: messages up become events, one under way at a time; commands down are queued.
#include "server/rpc/agent_service.h"

#include <deque>

#include "base/log.h"
#include "server/logs/log_ship_service.h"
#include "wire/convert.h"
#include "wire/grpc_status.h"
#include "wire/session_mark.h"
#include "wire/stream/read_end.h"

namespace keiko::server {
namespace {

class AgentStream : public grpc::ServerBidiReactor<v1::AgentMessage, v1::ServerMessage>,
                    public AgentPort {
 public:
  AgentStream(ServerLoop& loop, const StreamParts& parts, const StreamOptions& options,
              grpc::CallbackServerContext* context)
      : loop_(loop), parts_(parts), options_(options), context_(context) {}

  void start(const std::shared_ptr<AgentStream>& self) {
    self_ = self;
    connection_ = loop_.agents().add(self);
    context_->AddInitialMetadata(kSessionMark, "1");
    StartSendInitialMetadata();
    StartRead(&incoming_);
  }

  void send(v1::ServerMessage message) override {
    const std::lock_guard lock(mutex_);
    if (finishing_) return;
    if (message.has_welcome()) welcomed_ = true;
    queued_bytes_ += message.ByteSizeLong();
    if (queued_bytes_ > options_.agent_buffer_bytes) {
      log_warn("agent_cut", "connection=" + std::to_string(connection_));
      return finish_locked(grpc::Status(grpc::RESOURCE_EXHAUSTED, "the agent does not read"), true);
    }
    queue_.push_back(std::move(message));
    if (queue_.size() == 1) StartWrite(&queue_.front());
  }

  void close(const std::string& why) override {
    const std::lock_guard lock(mutex_);
    finish_locked(to_status(unavailable(why)), false);
  }

  void read_next() override {
    const std::lock_guard lock(mutex_);
    if (!finishing_) StartRead(&incoming_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      const std::lock_guard lock(mutex_);
      return finish_locked(status_of_read_end(*context_), false);
    }
    const Done taken = take();
    if (taken.ok()) return;
    log_warn("agent_message_refused", "error=" + quote_text(taken.error().text()));
    const std::lock_guard lock(mutex_);
    finish_locked(to_status(taken.error()), false);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    if (!ok) return finish_locked(grpc::Status::CANCELLED, true);
    queued_bytes_ -= queue_.front().ByteSizeLong();
    queue_.pop_front();
    if (!queue_.empty()) {
      StartWrite(&queue_.front());
    } else if (finishing_) {
      finish_now();
    }
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    finish_locked(grpc::Status::CANCELLED, true);
  }

  void OnDone() override {
    loop_.agents().remove(connection_);
    loop_.post_event(cluster::ConnectionClosed{connection_});
    const std::shared_ptr<AgentStream> last = std::move(self_);
  }

  Done take() {
    switch (incoming_.body_case()) {
      case v1::AgentMessage::kHello: {
        node_ = incoming_.hello().node().name();
        loop_.post_event(cluster::HelloReceived{connection_, TRY(from_proto(incoming_.hello()))});
        return done();
      }
      case v1::AgentMessage::kReport: {
        loop_.post_event(cluster::ReportReceived{connection_, TRY(from_proto(incoming_.report()))});
        return done();
      }
      case v1::AgentMessage::kHealth: {
        loop_.post_event(cluster::HealthReceived{connection_, TRY(from_proto(incoming_.health()))});
        return done();
      }
      case v1::AgentMessage::kReadings: {
        // Past the loop: readings decide nothing, and there may be thousands a second.
        if (parts_.history != nullptr && is_welcome()) {
          parts_.history->put(node_, quantities(incoming_.readings()));
        }
        loop_.agents().readings().put(connection_, std::move(*incoming_.mutable_readings()));
        read_next();
        return done();
      }
      case v1::AgentMessage::kLogChunk: {
        LogChunk chunk = from_proto(std::move(*incoming_.mutable_log_chunk()));
        loop_.post_from_agent([this, self = self_, chunk = std::move(chunk)] {
          parts_.relay.on_chunk(loop_.view(), chunk);
          read_next();
        });
        return done();
      }
      case v1::AgentMessage::BODY_NOT_SET: pass_over(); return done();
    }
    return done();
  }

  /// A newer agent may say what this server does not know yet; what it does know goes on.
  void pass_over() {
    if (!passed_over_) {
      log_warn(
          "agent_message_unknown",
          "node=" + quote_text(node_) +
              " effect=\"it is passed over, as others of its kind\" remedy=\"update the server\"");
    }
    passed_over_ = true;
    read_next();
  }

  bool is_welcome() {
    const std::lock_guard lock(mutex_);
    return welcomed_;
  }

  /// What is queued still goes out, unless `at_once`.
  void finish_locked(const grpc::Status& status, bool at_once) {
    if (!finishing_) {
      finishing_ = true;
      status_ = status;
    }
    if (queue_.empty() || at_once) finish_now();
    // A write that never ends would keep the stream; the agent's keepalive and ours end it.
  }

  void finish_now() {
    if (finished_) return;
    finished_ = true;
    Finish(status_);
  }

  ServerLoop& loop_;
  const StreamParts parts_;
  const StreamOptions options_;
  grpc::CallbackServerContext* const context_;
  uint64_t connection_ = 0;
  std::shared_ptr<AgentStream> self_;
  v1::AgentMessage incoming_;
  std::string node_;          // of its hello; of the reading thread alone, as the next
  bool passed_over_ = false;

  std::mutex mutex_;
  std::deque<v1::ServerMessage> queue_;  // the front is being written
  size_t queued_bytes_ = 0;
  grpc::Status status_;
  bool welcomed_ = false;     // the brain took its hello: it is that node
  bool finishing_ = false;
  bool finished_ = false;
};

}  // namespace

grpc::ServerBidiReactor<v1::AgentMessage, v1::ServerMessage>* AgentGrpcService::Session(
    grpc::CallbackServerContext* context) {
  auto stream = std::make_shared<AgentStream>(loop_, parts_, options_, context);
  stream->start(stream);
  return stream.get();
}

grpc::ServerBidiReactor<v1::LogShipment, v1::LogReceipt>* AgentGrpcService::ShipLogs(
    grpc::CallbackServerContext* context) {
  return make_ship_stream(context, parts_.archive);
}

}  // namespace keiko::server
