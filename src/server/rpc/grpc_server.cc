// Server arguments, each with its reason.
#include "server/rpc/grpc_server.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>

#include "server/attach/attach_service.h"
#include "server/listening.h"
#include "server/rpc/agent_service.h"
#include "server/rpc/cluster_service.h"
#include "wire/channel.h"

namespace keiko::server {
namespace {

class RunningGrpcServer : public GrpcServer {
 public:
  RunningGrpcServer(const ServerOptions& options, ClusterApi& api, const StreamParts& parts,
                    ServerProbe& probe)
      : attach_relay_(api.loop()),
        attach_(attach_relay_),
        cluster_(api, parts.relay, probe),
        agents_(api.loop(), parts, options.streams) {}

  ~RunningGrpcServer() override { stop(); }

  bool start(const std::string& address) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetMaxSendMessageSize(kMaxMessageBytes);
    // Two servers on one port would share its connections by chance.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // Agents ping every few seconds whether or not data flows; no count of pings is too many.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    // A peer that is stopped or cut off answers no ping: its streams are ended.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.RegisterService(&cluster_);
    builder.RegisterService(&agents_);
    builder.RegisterService(&attach_);
    server_ = builder.BuildAndStart();
    return server_ != nullptr && port_ != 0;
  }

  int port() const override { return port_; }

  void stop() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  }

 private:
  AttachRelay attach_relay_;
  AttachGrpcService attach_;
  ClusterGrpcService cluster_;
  AgentGrpcService agents_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

Result<std::unique_ptr<GrpcServer>> start_grpc_server(const ServerOptions& options, ClusterApi& api,
                                                      const StreamParts& parts,
                                                      ServerProbe& probe) {
  TRY(check_port_free(options.listen, options.grpc_port, "--grpc-port"));
  auto server = std::make_unique<RunningGrpcServer>(options, api, parts, probe);
  const std::string address = host_port(options.listen, options.grpc_port);
  if (!server->start(address)) {
    return unavailable("cannot listen on " + address +
                       "; choose another port with --grpc-port PORT");
  }
  return std::unique_ptr<GrpcServer>(std::move(server));
}

}  // namespace keiko::server
