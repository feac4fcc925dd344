#include "verb_up.h"

#include <filesystem>

#include "base/bytes.h"
#include "up_command.h"

namespace keiko::up {
namespace {

Done check_range(const char* flag, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return done();
  return invalid_argument(std::string(flag) + " " + std::to_string(value) + ": expected " +
                          std::to_string(low) + " to " + std::to_string(high));
}

Done check(const UpOptions& given) {
  TRY(check_range("--nodes", given.nodes, 1, 100));
  TRY(check_range("--devices-per-node", given.devices_per_node, 0, 1024));
  TRY(check_range("--grpc-port", given.grpc_port, 0, 65535));
  TRY(check_range("--http-port", given.http_port, 0, 65535));
  if (!given.device_memory.empty()) TRY(parse_bytes(given.device_memory));
  if (given.detach && given.stop) return invalid_argument("--detach and --stop exclude each other");
  return done();
}

cli::VerbRun add_options(cli::OptionSet& options) {
  auto given = std::make_shared<UpOptions>();
  options.integer("--nodes", "N", given->nodes, "agents to start, each a node of its own (1)");
  options.integer("--devices-per-node", "N", given->devices_per_node,
                  "cpu slots of each node (one for each core)");
  options.text("--device-memory", "SIZE", given->device_memory,
               "memory of each slot, such as 4GiB (an equal share)");
  options.text("--state", "DIR", given->state_dir,
               "where everything is kept ($KEIKO_STATE, else ~/.local/share/keiko)")
      .completes = cli::Completes::kDirectory;
  options.integer("--grpc-port", "PORT", given->grpc_port,
                  "for clients and agents; 0 is any free one (7070)");
  options.integer("--http-port", "PORT", given->http_port,
                  "for JSON, events and metrics; 0 is any free one (7071)");
  options.flag("-d,--detach", given->detach, "go into the background once the pool is ready");
  options.flag("--stop", given->stop, "stop the pool that runs on this state directory");
  return [given](cli::Invocation& call) -> Result<int> {
    TRY(check(*given));
    const std::filesystem::path here = call.current_directory;
    const std::string usual = cli::state_directory("", call.variable);
    given->state_dir = here / cli::state_directory(given->state_dir, call.variable);
    given->usual_state = given->state_dir == usual;
    TRY(run_up(*given));
    return 0;
  };
}

}  // namespace

cli::Verb up_verb() {
  cli::Verb verb;
  verb.name = "up";
  verb.group = "Daemons";
  verb.summary = "Start a pool on this machine: a server and its agents";
  verb.examples = {"keiko up", "keiko up --nodes 3 --devices-per-node 2 --detach",
                   "keiko up --stop"};
  verb.about =
      "Ctrl-C (or --stop) stops the server, the agents and the programs that they run. Jobs are "
      "not cancelled: the next `keiko up` goes on with them. What dies by itself is started "
      "again. If this process is killed, server and agents run on, and the next `keiko up` with "
      "the same state directory takes them over.";
  verb.asks_server = false;
  verb.add_options = add_options;
  return verb;
}

}  // namespace keiko::up
