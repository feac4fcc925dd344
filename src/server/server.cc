// Wires the parts, in the order in which they may be used, and takes them down in the other.
#include "server/server.h"

#include <unistd.h>

#include <condition_variable>

#include "base/log.h"
#include "server/address_file.h"
#include "server/cluster_api.h"
#include "server/grpc_server.h"
#include "server/http_server.h"
#include "server/listening.h"
#include "server/log_relay.h"

namespace keiko::server {
namespace {

bool is_loopback(const std::string& address) {
  return address.compare(0, 4, "127.") == 0 || address == "::1";
}

/// What a wildcard listener is dialled at from this machine.
std::string dial_address(const std::string& listen) {
  if (listen == "0.0.0.0") return "127.0.0.1";
  return listen == "::" ? "::1" : listen;
}

/// Waits for a stop or a failure, whichever comes first.
class EndSignal {
 public:
  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    error_ = error;
    changed_.notify_all();
  }

  Done wait(const std::stop_token& stop) {
    const std::stop_callback on_stop(stop, [this] {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return error_.has_value() || stop.stop_requested(); });
    return error_ ? Done(*error_) : done();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Error> error_;
};

}  // namespace

Done run_server(const ServerOptions& options, Journal& journal, Clock& clock, Recovery recovery,
                std::stop_token stop, const std::function<void(const ServerAddresses&)>& on_ready) {
  // A port in use is found before the term is made durable and any agent hears of it.
  TRY(check_port_free(options.listen, options.grpc_port, "--grpc-port"));
  TRY(check_port_free(options.listen, options.http_port, "--http-port"));
  const uint64_t term = recovery.term.number;
  EndSignal end;
  ServerProbe probe;
  ServerLoop loop(options.loop, journal, clock, std::move(recovery), probe);
  LogRelay relay(loop.agents(), options.streams, probe);
  loop.on_failure([&end](const Error& error) { end.fail(error); });
  ClusterApi api(loop, options.version, term, clock.wall());
  TRY(loop.start(relay));
  HttpGateway gateway(api, relay, probe, is_loopback(options.listen));
  const auto grpc = TRY(start_grpc_server(options, api, relay, probe));
  const auto http = TRY(start_http_server(options, gateway));

  const std::string host = dial_address(options.listen);
  const ServerAddresses addresses{host_port(host, grpc->port()), host_port(host, http->port())};
  if (!options.state_dir.empty()) TRY(write_address_file(options.state_dir, addresses));
  log_info("server_ready", "grpc=" + addresses.grpc + " http=" + addresses.http +
                               " term=" + std::to_string(term));
  if (on_ready) on_ready(addresses);

  const Done ended = end.wait(stop);
  if (!options.state_dir.empty()) remove_address_file(options.state_dir);
  const Done asked = loop.post([&relay] { relay.end_all(unavailable("the server is stopping")); });
  if (!asked.ok()) log_debug("server_loop_ended");
  loop.stop();
  http->stop();
  grpc->stop();
  log_info("server_stopped");
  return ended;
}

}  // namespace keiko::server
