// Why nothing more can be read from a caller's stream. Only .cc files that speak gRPC include this.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

namespace keiko {

/// For streams that their callers leave by cancelling the call: what ends otherwise was cut off by
/// bytes that are no message, of which gRPC tells nothing but the end.
inline grpc::Status status_of_read_end(const grpc::CallbackServerContext& context) {
  if (context.IsCancelled()) return grpc::Status::CANCELLED;
  return {grpc::INVALID_ARGUMENT,
          "the stream ended with bytes that are no message of this contract, or without being "
          "cancelled; both sides must know the same version of keiko/v1"};
}

}  // namespace keiko
