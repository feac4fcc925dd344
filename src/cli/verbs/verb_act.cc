// The verbs that do one thing to each job or node they are given: cancel, hold, release, requeue;
// cordon, drain, uncordon, forget; clear, check. Every name is tried; the status is that of the
// first failure.
#include <memory>

#include "cli/exit_code.h"
#include "cli/verbs.h"

namespace keiko::cli {
namespace {

struct Given {
  std::vector<std::string> names;
  std::string why;
};

Result<std::string> act_on_job(Invocation& call, const std::string& name, const std::string& action,
                               const std::string& why) {
  v1::ActOnJobRequest request;
  request.set_job(TRY(call.connection.job_id(name)));
  request.set_action(action);
  request.set_why(why);
  Client* const client = TRY(call.connection.client());
  const v1::ActOnJobResponse response = TRY(client->act_on_job(request));
  return response.text().empty() ? response.job() + ": " + action : response.text();
}

Result<std::string> act_on_node(Invocation& call, const std::string& name,
                                const std::string& action, const std::string& why) {
  v1::ActOnNodeRequest request;
  const bool of_health = action == "clear" || action == "check";
  const size_t slash = of_health ? name.find('/') : std::string::npos;
  request.set_node(name.substr(0, slash));
  if (slash != std::string::npos) request.set_device(name.substr(slash + 1));
  if (of_health) request.set_user(call.user);
  request.set_action(action);
  request.set_why(why);
  Client* const client = TRY(call.connection.client());
  const v1::ActOnNodeResponse response = TRY(client->act_on_node(request));
  return response.text().empty() ? response.node() + ": " + action : response.text();
}

using Act = Result<std::string> (*)(Invocation&, const std::string&, const std::string&,
                                    const std::string&);

VerbRun make_run(std::shared_ptr<Given> given, std::string action, Act act) {
  return [given, action, act](Invocation& call) -> Result<int> {
    int code = kExitOk;
    for (const std::string& name : given->names) {
      const Result<std::string> text = act(call, name, action, given->why);
      if (text.ok()) {
        call.console.line(printable(*text));
        continue;
      }
      call.console.hint("keiko " + action + ": " + name + ": " + printable(text.error().message));
      if (code == kExitOk) code = exit_code_of(text.error());
      if (text.error().code == Code::kUnavailable) break;  // the next ones would wait as long
    }
    return code;
  };
}

Verb job_verb(const std::string& name, const std::string& summary, const std::string& about) {
  Verb verb;
  verb.name = name;
  verb.group = "Jobs";
  verb.summary = summary;
  verb.about = about;
  verb.examples = {"keiko " + name + " j12 j13"};
  verb.add_options = [name](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    options.positionals("ID", given->names, "ids or names of jobs").completes = Completes::kJob;
    options.text("--reason", "TEXT", given->why, "why; shown in the job's timeline");
    return make_run(given, name, act_on_job);
  };
  return verb;
}

Verb node_verb(const std::string& name, const std::string& summary, const std::string& about) {
  Verb verb;
  verb.name = name;
  verb.group = "Cluster";
  verb.summary = summary;
  verb.about = about;
  verb.examples = {"keiko " + name + " node3" +
                   (name == "cordon" || name == "drain" ? " --reason 'new fan'" : "")};
  verb.add_options = [name](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    options.positionals("NODE", given->names, "names or ids of nodes").completes = Completes::kNode;
    options.text("--reason", "TEXT", given->why, "why; shown in the events");
    return make_run(given, name, act_on_node);
  };
  return verb;
}

Verb health_verb(const std::string& name, const std::string& summary, const std::string& about) {
  Verb verb;
  verb.name = name;
  verb.group = "Cluster";
  verb.summary = summary;
  verb.about = about;
  verb.examples = {"keiko " + name + " node3/0" + (name == "clear" ? " --reason 'new cable'" : "")};
  verb.add_options = [name](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    options
        .positionals("NODE[/DEVICE]", given->names,
                     "nodes, or devices of nodes by index or UUID")
        .completes = Completes::kNode;
    Option& why = options.text("--reason", "TEXT", given->why, "why; kept with the incident");
    why.required = name == "clear";
    return make_run(given, name, act_on_node);
  };
  return verb;
}

}  // namespace

Verb verb_clear() {
  return health_verb("clear", "Say that something ill is well, and end its quarantine",
                     "Of a node without a device: all that is ill on it. It comes back on "
                     "probation; its incidents keep who said so, and why.");
}
Verb verb_check() {
  return health_verb("check", "Test devices or a node again, now",
                     "It happens once the device is idle; a test that passes ends a quarantine "
                     "that waits for one. `keiko health NODE` tells how it went.");
}

Verb verb_cancel() {
  return job_verb("cancel", "Stop jobs for good",
                  "Workers get SIGTERM, and SIGKILL after the job's grace time.");
}
Verb verb_hold() {
  return job_verb("hold", "Keep jobs from running until they are released",
                  "A job that runs cannot be held: requeue it first, then hold it.");
}
Verb verb_release() { return job_verb("release", "Let held jobs run again", ""); }
Verb verb_requeue() {
  return job_verb("requeue", "Stop jobs and start them again as a new attempt",
                  "They keep their ids and go on from their last checkpoints.");
}
Verb verb_cordon() {
  return node_verb("cordon", "Give nodes no new work", "What runs there runs on.");
}
Verb verb_drain() {
  return node_verb("drain", "Give nodes no new work and move away what runs there", "");
}
Verb verb_uncordon() { return node_verb("uncordon", "Let nodes take work again", ""); }
Verb verb_forget() {
  return node_verb("forget", "Strike lost nodes from the list",
                   "For machines that will not return. Only LOST nodes are forgotten; one that "
                   "returns after all joins as a new one.");
}

}  // namespace keiko::cli
