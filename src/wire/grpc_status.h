// Errors over gRPC: the codes are the same numbers; `where` travels in the details, as a v1.Error,
// which also tells an answer of Keiko's from one that gRPC itself made up.
// Only .cc files that speak gRPC include this.
#pragma once

#include <grpcpp/support/status.h>

#include "base/result.h"

namespace keiko {

grpc::Status to_status(const Error& error);

/// Whether a Keiko server made this status, rather than gRPC on the way.
bool is_ours(const grpc::Status& status);

/// REQUIRES: !status.ok(). `address` is whom we called, for sentences about the connection.
Error from_status(const grpc::Status& status, const std::string& address);

}  // namespace keiko
