// AgentLink: the agent's end of its stream to the server.
//
// The stream lives on gRPC's threads; the listener is called from them, one call at a time, and
// should only post. One stream at a time: open(), then on_connected or on_closed; after on_closed
// the caller opens again when it likes (back-off is its own). send() is safe from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "keiko/v1/agent.pb.h"
#include "model/messages.h"
#include "model/node_health.h"
#include "model/reading.h"
#include "wire/logs/log_messages.h"

namespace keiko {

/// What the agent hears. Calls come from an I/O thread, never two at once for one link.
class AgentListener {
 public:
  virtual ~AgentListener() = default;

  /// The stream is open: say hello.
  virtual void on_connected() = 0;
  virtual void on_message(ServerMessage message) = 0;
  virtual void on_log_read(LogRead read) = 0;
  virtual void on_log_cancel(uint64_t request) = 0;
  /// A client wants into a worker. Who has no door leaves it: the server waits for a while only.
  virtual void on_attach(v1::AttachOrder) {}
  /// The stream is gone, or was never opened. Exactly one per open(), and the last call of it.
  virtual void on_closed(Error why) = 0;
};

class AgentLink {
 public:
  virtual ~AgentLink() = default;

  /// Dials `address` ("host:port"). REQUIRES: no stream is open, and the listener outlives the
  /// link.
  virtual void open(const std::string& address) = 0;

  /// Queues a message. RETURNS: kUnavailable if no stream is open; for log chunks also
  /// kResourceExhausted if the server does not keep up: send the same chunk again a little later.
  virtual Done send(const AgentHello& hello) = 0;
  virtual Done send(const AgentReport& report) = 0;
  virtual Done send(const LogChunk& chunk) = 0;
  virtual Done send(const HealthReport& report) = 0;
  /// Only the newest readings matter: kResourceExhausted if anything else still waits to be sent.
  virtual Done send(const std::vector<Reading>& readings) = 0;

  /// Ends the stream; on_closed follows. Without a stream it does nothing.
  virtual void close() = 0;
};

struct AgentLinkOptions {
  /// Without an answer to the first bytes for this long, open() has failed.
  Duration connect_timeout = seconds(5);
  /// A silent connection is probed this often; the server allows it.
  Duration keepalive_every = seconds(5);
  /// ... and is dead when a probe is not answered for this long: half a lease, so that the agent
  /// can dial again before its lease ends.
  Duration keepalive_timeout = seconds(5);
  /// Log chunks beyond this many queued bytes are refused until the server has taken some.
  size_t log_buffer_bytes = 4u << 20;
};

/// RETURNS: a link over gRPC. Destroying it ends the stream and waits for the last callback.
std::unique_ptr<AgentLink> make_agent_link(AgentListener& listener,
                                           const AgentLinkOptions& options = {});

}  // namespace keiko
