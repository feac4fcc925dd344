// AgentService over gRPC: one reactor per agent stream, between gRPC's threads and the loop.
// Only .cc files include this.
#pragma once

#include "keiko/v1/agent.grpc.pb.h"
#include "server/rpc/grpc_server.h"
#include "server/server_loop.h"

namespace keiko::server {

class AgentGrpcService : public v1::AgentService::CallbackService {
 public:
  AgentGrpcService(ServerLoop& loop, const StreamParts& parts, const StreamOptions& options)
      : loop_(loop), parts_(parts), options_(options) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::ServerMessage>* Session(
      grpc::CallbackServerContext* context) override;

  grpc::ServerBidiReactor<v1::LogShipment, v1::LogReceipt>* ShipLogs(
      grpc::CallbackServerContext* context) override;

 private:
  ServerLoop& loop_;
  const StreamParts parts_;
  const StreamOptions options_;
};

}  // namespace keiko::server
