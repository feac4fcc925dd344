// LogShipLink: the agent's end of the call that carries workers' output to the server. It has a
// connection of its own, so that output never stands in front of a heartbeat.
//
// As AgentLink: calls of the listener come from an I/O thread, never two at once, and should only
// post; one stream at a time; send() is safe from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "model/logs/log_shipping.h"
#include "wire/agent_client.h"

namespace keiko {

class LogShipListener {
 public:
  virtual ~LogShipListener() = default;
  virtual void on_ship_opened() = 0;
  virtual void on_receipt(LogReceipt receipt) = 0;
  /// The call is gone, or was never opened. Exactly one per open(), and the last call of it.
  virtual void on_ship_closed(Error why) = 0;
};

class LogShipLink {
 public:
  virtual ~LogShipLink() = default;
  /// Dials `address` ("host:port"). REQUIRES: no call is open.
  virtual void open(const std::string& address) = 0;
  /// RETURNS: kUnavailable if no call is open.
  virtual Done send(LogShipment shipment) = 0;
  /// Ends the call; on_ship_closed follows. Without a call it does nothing.
  virtual void close() = 0;
};

using MakeLogShipLink = std::function<std::unique_ptr<LogShipLink>(LogShipListener&)>;

/// RETURNS: a link over gRPC. Destroying it ends the call and waits for the last callback.
std::unique_ptr<LogShipLink> make_log_ship_link(LogShipListener& listener,
                                                const AgentLinkOptions& options = {});

}  // namespace keiko
