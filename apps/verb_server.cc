#include "verb_server.h"

#include <cstdio>
#include <memory>

#include "base/log.h"
#include "drivers/clock/system/system_clock.h"
#include "drivers/history/sqlite/sqlite_history.h"
#include "drivers/journal/sqlite/sqlite_journal.h"
#include "drivers/logs/files/file_log_store.h"
#include "server/server.h"
#include "stop_signals.h"

namespace keiko::apps {
namespace {

struct Given {
  server::ServerOptions server;
  std::string state;
  int64_t grpc_port = 7070;
  int64_t http_port = 7071;
  bool take_over = false;
};

/// RETURNS: null if it cannot be had: a server without history is better than none.
std::unique_ptr<History> open_history(const std::string& state) {
  SqliteHistoryOptions options;
  options.directory = state;
  Result<std::unique_ptr<History>> history = open_sqlite_history(options);
  if (history.ok()) return std::move(history).value();
  log_error("history_not_kept", "why=" + quote_text(history.error().message));
  return nullptr;
}

Done serve(Given& given) {
  StopSignals signals;
  SqliteJournalOptions options;
  options.directory = given.state;
  options.take_over = given.take_over;
  const std::unique_ptr<Journal> journal = TRY(open_sqlite_journal(options));
  server::Recovery recovery = TRY(server::recover(*journal));
  // A folder whose journal is not to be used is not touched.
  const std::unique_ptr<FileLogStore> logs = TRY(FileLogStore::open(given.state + "/logs"));
  given.server.log_store = logs.get();
  const std::unique_ptr<History> history = open_history(given.state);
  given.server.history_store = history.get();
  SystemClockDriver clock(recovery.replayed.state.now);
  return server::run_server(given.server, *journal, clock, std::move(recovery), signals.token(),
                            [](const server::ServerAddresses& at) {
                              std::printf("keiko server: gRPC on %s, HTTP on %s\n", at.grpc.c_str(),
                                          at.http.c_str());
                              std::fflush(stdout);
                            });
}

cli::VerbRun add_options(cli::OptionSet& options, const std::string& version) {
  auto given = std::make_shared<Given>();
  given->server.version = version;
  options.text("--state", "DIR", given->state,
               "the journal's folder ($KEIKO_STATE, else ~/.local/share/keiko)")
      .completes = cli::Completes::kDirectory;
  options.text("--listen", "ADDRESS", given->server.listen, "address to listen on (127.0.0.1)");
  options.integer("--grpc-port", "PORT", given->grpc_port, "agents and clients; 0: any (7070)")
      .between(0, 65535);
  options.integer("--http-port", "PORT", given->http_port, "JSON and metrics; 0: any (7071)")
      .between(0, 65535);
  options.duration("--log-keep", given->server.logs.retention.keep,
                   "keep a job's output so long after its end; 0: for ever (30d)");
  options.bytes("--log-total", given->server.logs.retention.total,
                "what all output may take; the oldest ended jobs' goes; 0: no limit (50GiB)");
  options.duration("--history-keep", given->server.history.keep,
                   "keep nodes' metrics so long, in spans of 15 min at last; 0: for ever (30d)");
  options.bytes("--history-total", given->server.history.total,
                "what the history of metrics may take; 0: no limit (2GiB)");
  options.flag("--take-over", given->take_over,
               "become the journal's writer though another server holds it and hangs");
  return [given](cli::Invocation& call) -> Result<int> {
    given->state = cli::state_directory(given->state, call.variable);
    given->server.state_dir = given->state;
    given->server.grpc_port = static_cast<int>(given->grpc_port);
    given->server.http_port = static_cast<int>(given->http_port);
    TRY(serve(*given));
    return 0;
  };
}

}  // namespace

cli::Verb server_verb(const std::string& version) {
  cli::Verb verb;
  verb.name = "server";
  verb.group = "Daemons";
  verb.summary = "Run the server: the cluster's brain and its journal";
  verb.examples = {"keiko server --state /var/lib/keiko --listen 0.0.0.0"};
  verb.asks_server = false;
  verb.add_options = [version](cli::OptionSet& options) { return add_options(options, version); };
  return verb;
}

}  // namespace keiko::apps
