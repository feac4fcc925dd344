// What an agent and the server say to each other while a worker's output moves to the server.
//
// Both count bytes from the start of the stream, so either may crash, forget and ask again: a
// shipment that comes twice is cut to what is new, and one that leaves a gap is not taken.
#pragma once

#include <cstdint>
#include <string>

#include "model/logs/log_name.h"

namespace keiko {

/// Agent to server. Without data and without `ended` it is a question: how far is the server?
struct LogShipment {
  LogName name;
  int64_t offset = 0;    ///< of the first byte
  std::string data;      ///< at most kMaxLogShipment
  bool ended = false;    ///< the stream ends behind these bytes, for ever
};

/// Server to agent: where a stream stands.
struct LogReceipt {
  LogName name;
  int64_t written = 0;    ///< bytes that the server has; what it wants next begins here
  bool complete = false;  ///< all there will ever be is durable: the node may delete its copy
  bool rewind = false;    ///< what was sent beyond `written` was not taken: send it again
  bool unwanted = false;  ///< nobody keeps this output any more: send nothing
  std::string paused;     ///< not empty: a sentence why nothing is taken now; ask again later
};

inline constexpr size_t kMaxLogShipment = 64 * 1024;

}  // namespace keiko
