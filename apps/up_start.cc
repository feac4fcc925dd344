// How a pool comes up, the server first: one that still lives from before is adopted if it is what
// we would start now, else stopped, so that nothing runs twice.
#include "cli/exit_code.h"
#include "server/listening.h"
#include "up_loop.h"
#include "wire/client.h"

namespace keiko::up {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
constexpr std::chrono::seconds kServerPatience{60};  // a long journal has to be read first
const std::string kAddress = "127.0.0.1";

std::vector<std::string> server_argv(const UpOptions& options, const ServerAddress& known) {
  const int64_t grpc = known.pid != 0 ? port_of(known.grpc) : options.grpc_port;
  const int64_t http = known.pid != 0 ? port_of(known.http) : options.http_port;
  return {own_program(), "server", "--state", options.state_dir,
          "--grpc-port", std::to_string(grpc), "--http-port", std::to_string(http)};
}

/// What it refused will be refused the next time too, so scripts are not told to try again.
Error server_ended(Child& server) {
  const bool refused = server.bury() == "with exit code " + std::to_string(cli::kExitRefused);
  return {refused ? Code::kFailedPrecondition : Code::kUnavailable,
          "the server did not start; the end of " + server.log() + ":" +
              last_lines(server.log(), 8),
          {}};
}

}  // namespace

Done UpLoop::start_all(const std::optional<UpRecord>& before) {
  TRY(start_server(before));
  TRY(wait_for_server());
  if (signals_ > 0) return done();
  children_[0].set_argv(server_argv(options_, address_));
  if (before) retire_others(*before);
  TRY(start_agents(before));
  wait_for_nodes();
  return done();
}

Done UpLoop::start_server(const std::optional<UpRecord>& before) {
  Child& server = children_.emplace_back("server", server_argv(options_, {}),
                                         log_path(options_.state_dir, "server"));
  if (before && before->lives("server")) {
    const auto running = read_server_address(options_.state_dir);
    const bool same = running && running->pid == before->find("server")->identity.pid &&
                      (options_.grpc_port == 0 || port_of(running->grpc) == options_.grpc_port) &&
                      (options_.http_port == 0 || port_of(running->http) == options_.http_port);
    server.adopt(before->find("server")->identity);
    if (same) return save(false);
    stop_children({&server}, std::chrono::seconds(10));
  }
  TRY(server::check_port_free(kAddress, static_cast<int>(options_.grpc_port), "--grpc-port"));
  TRY(server::check_port_free(kAddress, static_cast<int>(options_.http_port), "--http-port"));
  TRY(server.start());
  return save(false);
}

Done UpLoop::wait_for_server() {
  const auto until = steady_clock::now() + kServerPatience;
  while (signals_ == 0) {
    const auto address = read_server_address(options_.state_dir);
    if (address && address->pid == children_[0].identity().pid) {
      address_ = *address;
      if (make_client({address_.grpc, seconds(2), seconds(2)})->get_version().ok()) return done();
    }
    const std::string log = children_[0].log();
    if (!children_[0].lives()) return server_ended(children_[0]);
    if (steady_clock::now() > until) return deadline_exceeded("the server is silent; see " + log);
    wait(milliseconds(20));
  }
  return done();
}

}  // namespace keiko::up
