// ShipLogs over gRPC: one reactor per agent's shipping call, between gRPC's threads and the
// archive. Only .cc files include this.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "keiko/v1/agent.pb.h"
#include "server/logs/log_archive.h"

namespace keiko::server {

/// `archive` null: this server keeps no output, and says so.
grpc::ServerBidiReactor<v1::LogShipment, v1::LogReceipt>* make_ship_stream(
    grpc::CallbackServerContext* context, LogArchive* archive);

}  // namespace keiko::server
