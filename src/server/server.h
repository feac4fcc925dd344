// Server: everything together, for apps/.
//
//   Recovery recovery = TRY(recover(journal));
//   SystemClockDriver clock(recovery.replayed.state.now);     // never before the last journaled
//   time return run_server(options, journal, clock, std::move(recovery), stop, on_ready);
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "ports/clock.h"
#include "server/options.h"
#include "server/recovery.h"

namespace keiko::server {

/// Where a running server listens: "127.0.0.1:7070".
struct ServerAddresses {
  std::string grpc;
  std::string http;
};

/// Runs until `stop` is requested (from any thread) or the journal cannot be written any more.
/// `on_ready` is called once, when both ports answer and server.json is written.
/// RETURNS: done() after a stop; kAlreadyExists for a port in use; the journal's error otherwise
/// (kAborted: another server took over).
Done run_server(const ServerOptions& options, Journal& journal, Clock& clock, Recovery recovery,
                std::stop_token stop, const std::function<void(const ServerAddresses&)>& on_ready);

}  // namespace keiko::server
