// The two server streams. Each reactor owns itself until gRPC's last callback.
// Only .cc files include this.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "keiko/v1/cluster.pb.h"
#include "server/event_log.h"
#include "server/logs/log_relay.h"

namespace keiko::server {

/// Events by pulling from the ring. A client that falls out of the ring is cut off with
/// kResourceExhausted; one that begins too far back is told so with kOutOfRange.
grpc::ServerWriteReactor<v1::Event>* make_event_stream(grpc::CallbackServerContext* context,
                                                       const v1::WatchEventsRequest& request,
                                                       EventLog& events, ServerProbe& probe);

grpc::ServerWriteReactor<v1::LogPiece>* make_log_stream(grpc::CallbackServerContext* context,
                                                        const v1::ReadLogsRequest& request,
                                                        ServerLoop& loop, LogRelay& relay);

}  // namespace keiko::server
