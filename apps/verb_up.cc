#include "verb_up.h"

#include <filesystem>

#include "cli/units.h"
#include "up_command.h"

namespace keiko::up {
namespace {

cli::VerbRun add_options(cli::OptionSet& options) {
  auto given = std::make_shared<UpOptions>();
  options.integer("--nodes", "N", given->nodes, "agents to start, each a node of its own (1)")
      .between(1, 100);
  options
      .integer("--devices-per-node", "N", given->devices_per_node,
               "cpu slots of each node; 0: one for each core (0)")
      .between(0, 1024);
  options.text("--device-memory", "SIZE", given->device_memory,
               "memory of each slot, such as 4GiB (an equal share)")
      .set = [given](const std::string& text) -> Done {
    TRY(cli::read_bytes(text));
    given->device_memory = text;
    return done();
  };
  options.text("--state", "DIR", given->state_dir,
               "where everything is kept ($KEIKO_STATE, else ~/.local/share/keiko)")
      .completes = cli::Completes::kDirectory;
  options
      .integer("--grpc-port", "PORT", given->grpc_port,
               "for clients and agents; 0 is any free one (7070)")
      .between(0, 65535);
  options
      .integer("--http-port", "PORT", given->http_port,
               "for JSON, events and metrics; 0 is any free one (7071)")
      .between(0, 65535);
  options.flag("-d,--detach", given->detach, "go into the background once the pool is ready");
  options.flag("--stop", given->stop, "stop the pool that runs on this state directory");
  return [given](cli::Invocation& call) -> Result<int> {
    if (given->detach && given->stop) {
      return invalid_argument("--detach and --stop exclude each other");
    }
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
      "Ctrl-C (or --stop) stops the server, the agents and the programs that they run, which have "
      "their job's grace between SIGTERM and SIGKILL. Jobs are not cancelled: the next `keiko up` "
      "goes on with "
      "them. What dies by itself is started "
      "again. If this process is killed, server and agents run on, and the next `keiko up` with "
      "the same state directory takes them over. A state directory has one pool: a second `keiko "
      "up` on it changes nothing and exits with 4.";
  verb.asks_server = false;
  verb.add_options = add_options;
  return verb;
}

}  // namespace keiko::up
