// keiko port-forward: ports of a running worker on this machine, through the server.
#include "cli/attach/port_forward.h"
#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "cli/verbs/worker/worker_options.h"

namespace keiko::cli {
namespace {

struct Given {
  std::string job;
  std::vector<std::string> ports;
  std::string address = "127.0.0.1";
  int64_t rank = 0;
};

Result<int> forward(const Given& given, Invocation& call) {
  ForwardOrder order;
  order.address = given.address;
  for (const std::string& port : given.ports) {
    const Result<ForwardedPort> parsed = parse_forward(port);
    if (!parsed.ok()) {
      call.console.hint("keiko port-forward: " + parsed.error().message);
      return kExitUsage;
    }
    order.ports.push_back(*parsed);
  }
  const SignalStream signals;  // before anything dials
  order.server = TRY(call.connection.address());
  order.worker = TRY(worker_named(given.job, given.rank, call));
  return forward_ports(order, signals, call.console);
}

}  // namespace

Verb verb_port_forward() {
  Verb verb;
  verb.name = "port-forward";
  verb.group = "Jobs";
  verb.summary = "Reach ports of a running worker";
  verb.about =
      "Listens on this machine and passes each connection on to the loopback of the worker's node "
      "(in the worker's network namespace, if it has one of its own), through the server: no ssh "
      "and "
      "no open port on the node. [LOCAL:]REMOTE is a port: 8888 is 8888 on both sides, 9000:8888 "
      "is "
      "9000 here, 0:8888 any that is free here. A connection that the worker refuses is told and "
      "ends nothing; Ctrl-C, the worker's end and the loss of the server end the forward.";
  verb.examples = {"keiko port-forward j12 8888", "keiko port-forward j12 9000:8888 6006",
                   "keiko port-forward j12 --rank 3 --address 0.0.0.0 8888"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    options.positional("ID", given->job, "the job's id or name").completes = Completes::kJob;
    options.positionals("[LOCAL:]REMOTE", given->ports, "ports, here and in the worker");
    add_rank(options, given->rank);
    options.text("--address", "ADDRESS", given->address,
                 "listen on this address of this machine (127.0.0.1)");
    return [given](Invocation& call) { return forward(*given, call); };
  };
  return verb;
}

}  // namespace keiko::cli
