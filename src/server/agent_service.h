// AgentService over gRPC: one reactor per agent stream, between gRPC's threads and the loop.
// Only .cc files include this.
#pragma once

#include "keiko/v1/agent.grpc.pb.h"
#include "server/log_relay.h"
#include "server/server_loop.h"

namespace keiko::server {

class AgentGrpcService : public v1::AgentService::CallbackService {
 public:
  AgentGrpcService(ServerLoop& loop, LogRelay& relay, const StreamOptions& options)
      : loop_(loop), relay_(relay), options_(options) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::ServerMessage>* Session(
      grpc::CallbackServerContext* context) override;

 private:
  ServerLoop& loop_;
  LogRelay& relay_;
  const StreamOptions options_;
};

}  // namespace keiko::server
