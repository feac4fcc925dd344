#include "wire/logs/log_ship_client.h"

#include "keiko/v1/agent.grpc.pb.h"
#include "wire/channel.h"
#include "wire/convert.h"
#include "wire/stream/client_stream.h"
#include "wire/stream/stream_slot.h"

namespace keiko {
namespace {

using Stream = ClientStream<v1::LogShipment, v1::LogReceipt>;

class GrpcLogShipLink : public LogShipLink {
 public:
  GrpcLogShipLink(LogShipListener& listener, const AgentLinkOptions& options)
      : listener_(listener), options_(options) {}

  void open(const std::string& address) override {
    const std::shared_ptr<v1::AgentService::Stub> stub =
        v1::AgentService::NewStub(make_channel(
            address,
            {options_.connect_timeout, options_.keepalive_every, options_.keepalive_timeout}));
    ClientStreamCalls<v1::LogReceipt> calls;
    calls.on_connected = [this] { listener_.on_ship_opened(); };
    calls.on_message = [this](v1::LogReceipt& message) {
      Result<LogReceipt> receipt = from_proto(message);
      if (receipt.ok()) listener_.on_receipt(std::move(receipt).value());
    };
    calls.on_closed = [this](Error why) { listener_.on_ship_closed(std::move(why)); };
    slot_.open(std::make_shared<Stream>(
                   address, std::move(calls),
                   [stub](grpc::ClientContext* context, Stream::Reactor* reactor) {
                     stub->async()->ShipLogs(context, reactor);
                   }),
               options_.connect_timeout);
  }

  Done send(LogShipment shipment) override {
    const std::shared_ptr<Stream> stream = slot_.current();
    if (!stream) return unavailable("no call was opened");
    return stream->send(to_proto(std::move(shipment)));
  }

  void close() override { slot_.close(); }

 private:
  LogShipListener& listener_;
  const AgentLinkOptions options_;
  StreamSlot<Stream> slot_;
};

}  // namespace

std::unique_ptr<LogShipLink> make_log_ship_link(LogShipListener& listener,
                                                const AgentLinkOptions& options) {
  return std::make_unique<GrpcLogShipLink>(listener, options);
}

}  // namespace keiko
