// One place for how Keiko's channels behave: message sizes, keepalive, no proxies, quick failure.
// Only .cc files that speak gRPC include this.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "base/time.h"

namespace keiko {

/// Largest message that either side takes: a batch of ordinary jobs, many times over.
inline constexpr int kMaxMessageBytes = 32 << 20;

struct ChannelOptions {
  Duration connect_timeout;
  Duration keepalive_every;
  Duration keepalive_timeout;
};

/// RETURNS: a channel to `address` of its own; nothing is dialled yet.
std::shared_ptr<grpc::Channel> make_channel(const std::string& address,
                                            const ChannelOptions& options);

}  // namespace keiko
