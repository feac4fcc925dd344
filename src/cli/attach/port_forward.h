// PortForward: ports of this machine whose connections end at a worker's loopback. Each connection
// is an Attach call of its own, so that one that is slow stops nobody else; one more call tells
// when the worker has ended.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "cli/attach/attach_client.h"
#include "cli/console.h"

namespace keiko::cli {

struct ForwardedPort {
  int local = 0;   ///< 0: any that is free
  int remote = 0;
};

/// "8888", "9000:8888", "0:8888" (any local port that is free).
Result<ForwardedPort> parse_forward(const std::string& text);

struct ForwardOrder {
  std::string server;
  std::string address = "127.0.0.1";  ///< to listen on
  std::vector<ForwardedPort> ports;
  v1::AttachOpen worker;              ///< job and rank
};

/// Tells on `console` what it listens on, and goes on until a signal, the worker's end or the loss
/// of the server; a connection that cannot be made is told and ends nothing.
/// RETURNS: kExitCancelled after a signal; else why it ended.
Result<int> forward_ports(const ForwardOrder& order, const SignalStream& signals,
                          const Console& console);

}  // namespace keiko::cli
