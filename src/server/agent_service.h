// AgentService over gRPC: one reactor per agent stream, between gRPC's threads and the loop.
// Only .cc files include this.
#pragma once

#include "keiko/v1/agent.grpc.pb.h"
#include "server/log_relay.h"
#include "server/logs/log_archive.h"
#include "server/server_loop.h"

namespace keiko::server {

class AgentGrpcService : public v1::AgentService::CallbackService {
 public:
  /// `archive` null: no output is kept here.
  AgentGrpcService(ServerLoop& loop, LogRelay& relay, LogArchive* archive,
                   const StreamOptions& options)
      : loop_(loop), relay_(relay), archive_(archive), options_(options) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::ServerMessage>* Session(
      grpc::CallbackServerContext* context) override;

  grpc::ServerBidiReactor<v1::LogShipment, v1::LogReceipt>* ShipLogs(
      grpc::CallbackServerContext* context) override;

 private:
  ServerLoop& loop_;
  LogRelay& relay_;
  LogArchive* const archive_;
  const StreamOptions options_;
};

}  // namespace keiko::server
