// GrpcServer: listens for agents and clients. The only header of gRPC's that it needs is its own
// .cc's.
#pragma once

#include <memory>
#include <string>

#include "server/cluster_api.h"
#include "server/logs/log_archive.h"
#include "server/logs/log_relay.h"

namespace keiko::server {

class GrpcServer {
 public:
  virtual ~GrpcServer() = default;
  virtual int port() const = 0;
  /// Ends every call within a second. Idempotent.
  virtual void stop() = 0;
};

struct StreamParts {
  LogRelay& relay;
  LogArchive* archive = nullptr;     ///< null: no output is kept here
  HistoryKeeper* history = nullptr;  ///< null: no metrics are kept here
};

/// RETURNS: kAlreadyExists if the port is taken, naming it, who might hold it and the flag.
Result<std::unique_ptr<GrpcServer>> start_grpc_server(const ServerOptions& options, ClusterApi& api,
                                                      const StreamParts& parts, ServerProbe& probe);

}  // namespace keiko::server
