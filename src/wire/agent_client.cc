// The agent's stream: messages down are sorted into the brain's and the log reader's.
#include "wire/agent_client.h"

#include "keiko/v1/agent.grpc.pb.h"
#include "wire/channel.h"
#include "wire/convert.h"
#include "wire/stream/client_stream.h"
#include "wire/stream/stream_slot.h"

namespace keiko {
namespace {

using Stream = ClientStream<v1::AgentMessage, v1::ServerMessage>;

void deliver(v1::ServerMessage& incoming, AgentListener& listener) {
  if (incoming.has_log_read()) {
    Result<LogRead> read = from_proto(incoming.log_read());
    if (read.ok()) listener.on_log_read(std::move(read).value());
  } else if (incoming.has_log_cancel()) {
    listener.on_log_cancel(incoming.log_cancel().request());
  } else if (incoming.has_attach()) {
    listener.on_attach(std::move(*incoming.mutable_attach()));
  } else {
    // What this agent does not know is dropped: the server repeats what still matters.
    Result<ServerMessage> message = from_proto(incoming);
    if (message.ok()) listener.on_message(std::move(message).value());
  }
}

class GrpcAgentLink : public AgentLink {
 public:
  GrpcAgentLink(AgentListener& listener, const AgentLinkOptions& options)
      : listener_(listener), options_(options) {}

  void open(const std::string& address) override {
    const std::shared_ptr<v1::AgentService::Stub> stub =
        v1::AgentService::NewStub(make_channel(
            address,
            {options_.connect_timeout, options_.keepalive_every, options_.keepalive_timeout}));
    ClientStreamCalls<v1::ServerMessage> calls;
    calls.on_connected = [this] { listener_.on_connected(); };
    calls.on_message = [this](v1::ServerMessage& message) { deliver(message, listener_); };
    calls.on_closed = [this](Error why) { listener_.on_closed(std::move(why)); };
    slot_.open(std::make_shared<Stream>(
                   address, std::move(calls),
                   [stub](grpc::ClientContext* context, Stream::Reactor* reactor) {
                     stub->async()->Session(context, reactor);
                   }),
               options_.connect_timeout);
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
    const size_t size = message.ByteSizeLong();
    return queue(std::move(message), size);  // only if nothing waits before it
  }
  Done send(const LogChunk& chunk) override {
    v1::AgentMessage message;
    *message.mutable_log_chunk() = to_proto(chunk);
    return queue(std::move(message), options_.log_buffer_bytes);
  }

  void close() override { slot_.close(); }

 private:
  Done queue(v1::AgentMessage message, size_t most_queued = SIZE_MAX) {
    const std::shared_ptr<Stream> stream = slot_.current();
    if (!stream) return unavailable("no stream was opened");
    return stream->send(std::move(message), most_queued);
  }

  AgentListener& listener_;
  const AgentLinkOptions options_;
  StreamSlot<Stream> slot_;
};

}  // namespace

std::unique_ptr<AgentLink> make_agent_link(AgentListener& listener,
                                           const AgentLinkOptions& options) {
  return std::make_unique<GrpcAgentLink>(listener, options);
}

}  // namespace keiko
