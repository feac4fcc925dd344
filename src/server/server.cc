// Wires the parts, in the order in which they may be used, and takes them down in the other.
#include "server/server.h"

#include <unistd.h>

#include <condition_variable>
#include <future>

#include "base/log.h"
#include "server/address_file.h"
#include "server/cluster_api.h"
#include "server/history/history_keeper.h"
#include "server/http/http_server.h"
#include "server/listening.h"
#include "server/logs/log_relay.h"
#include "server/logs/log_sweeper.h"
#include "server/rpc/grpc_server.h"
#include "wire/convert.h"

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

/// Adds to the event stream what happened beside the brain.
void announce(ServerLoop& loop, const std::string& name, const std::string& text) {
  loop.post_from_agent([&loop, name, text] {
    v1::Event event;
    set_proto(*event.mutable_at(), loop.view().now);
    event.set_name(name);
    event.set_text(text);
    loop.events().append(std::move(event));
    loop.events().publish();
  });
}

using Ends = std::map<JobId, Duration>;

/// RETURNS: for how long each of these jobs has been over; asked of the loop, waited for here.
Result<Ends> ask_ends(ServerLoop& loop, const std::vector<JobId>& jobs) {
  auto answer = std::make_shared<std::promise<Result<Ends>>>();
  std::future<Result<Ends>> answered = answer->get_future();
  loop.query<Ends>(
      [jobs](const View& view) -> Result<Ends> {
        Ends ends;
        for (const JobId id : jobs) {
          const auto job = view.state.jobs.find(id);
          if (job == view.state.jobs.end() || !is_final(job->second.status)) continue;
          ends[id] = view.now - job->second.ended_at;
        }
        return ends;
      },
      [answer](Result<Ends> ends) { answer->set_value(std::move(ends)); });
  if (answered.wait_for(std::chrono::seconds(10)) != std::future_status::ready) {
    return unavailable("the server's loop has no time");
  }
  return answered.get();
}

/// RETURNS: who removes workers' output, if there is where to keep it.
std::unique_ptr<LogSweeper> make_sweeper(const ServerOptions& options, ServerLoop& loop) {
  if (options.log_store == nullptr) return nullptr;
  return std::make_unique<LogSweeper>(
      *options.log_store, options.logs,
      [&loop](const std::vector<JobId>& jobs) { return ask_ends(loop, jobs); },
      [&loop](const std::string& event, const std::string& text) { announce(loop, event, text); });
}

/// RETURNS: the keeper of workers' output, if there is where to keep it.
std::unique_ptr<LogArchive> make_archive(const ServerOptions& options, Clock& clock,
                                         ServerLoop& loop) {
  if (options.log_store == nullptr) return nullptr;
  return std::make_unique<LogArchive>(*options.log_store, options.logs, clock,
                                      [&loop](const std::string& event, const std::string& text) {
                                        announce(loop, event, text);
                                      });
}

/// RETURNS: the keeper of metrics' past, if there is where to keep it.
std::unique_ptr<HistoryKeeper> make_history(const ServerOptions& options, Clock& clock,
                                            ServerProbe& probe) {
  if (options.history_store == nullptr) return nullptr;
  return std::make_unique<HistoryKeeper>(*options.history_store, options.history, clock, probe);
}

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
  const std::unique_ptr<LogArchive> archive = make_archive(options, clock, loop);
  LogRelay relay(loop.agents(), archive.get(), options.streams, probe);
  if (archive) {
    archive->reader().set_emit([&loop, &relay](LogChunk chunk) {
      loop.post_from_agent([&loop, &relay, chunk = std::move(chunk)] {
        relay.on_chunk(loop.view(), chunk);
      });
    });
  }
  const std::unique_ptr<LogSweeper> sweeper = make_sweeper(options, loop);
  loop.on_failure([&end](const Error& error) { end.fail(error); });
  const std::unique_ptr<HistoryKeeper> history = make_history(options, clock, probe);
  ClusterApi api(loop, history.get(), {options.version, term, clock.wall()});
  TRY(loop.start(relay));
  HttpGateway gateway({api, relay, probe, clock}, is_loopback(options.listen));
  const auto grpc =
      TRY(start_grpc_server(options, api, {relay, archive.get(), history.get()}, probe));
  const auto http = TRY(start_http_server(options, gateway));

  const std::string host = dial_address(options.listen);
  const ServerAddresses addresses{host_port(host, grpc->port()), host_port(host, http->port())};
  if (!options.state_dir.empty()) TRY(write_address_file(options.state_dir, addresses));
  log_info("server_ready", "grpc=" + addresses.grpc + " http=" + addresses.http +
                               " term=" + std::to_string(term));
  if (on_ready) on_ready(addresses);

  const Done ended = end.wait(stop);
  if (!options.state_dir.empty()) remove_address_file(options.state_dir);
  if (sweeper) sweeper->stop();
  const Done asked = loop.post([&relay] { relay.end_all(unavailable("the server is stopping")); });
  if (!asked.ok()) log_debug("server_loop_ended");
  loop.stop();
  http->stop();
  grpc->stop();
  if (archive) archive->stop();
  if (history) history->stop();
  log_info("server_stopped");
  return ended;
}

}  // namespace keiko::server
