// AttachService over gRPC's callback API. Only .cc files include this.
#pragma once

#include "keiko/v1/attach.grpc.pb.h"
#include "server/attach/attach_relay.h"

namespace keiko::server {

class AttachGrpcService : public v1::AttachService::CallbackService {
 public:
  explicit AttachGrpcService(AttachRelay& relay) : relay_(relay) {}

  AttachReactor* Open(grpc::CallbackServerContext* context) override {
    return relay_.open_client(context);
  }
  AttachReactor* Answer(grpc::CallbackServerContext* context) override {
    return relay_.open_agent(context);
  }

 private:
  AttachRelay& relay_;
};

}  // namespace keiko::server
