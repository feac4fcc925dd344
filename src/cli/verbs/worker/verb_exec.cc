// keiko exec and keiko shell: a command in a running worker, through the server.
#include <unistd.h>

#include "cli/attach/attach_client.h"
#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "cli/verbs/worker/worker_options.h"

namespace keiko::cli {
namespace {

struct Given {
  std::string job;
  int64_t rank = 0;
};

void add_worker_options(OptionSet& options, Given& given) {
  options.positional("ID", given.job, "the job's id or name").completes = Completes::kJob;
  add_rank(options, given.rank);
}

Result<int> enter(const Given& given, Invocation& call, v1::AttachOpen open) {
  const SignalStream signals;  // before anything dials
  open.MergeFrom(TRY(worker_named(given.job, given.rank, call)));
  return attach_and_wait(TRY(call.connection.address()), open, signals);
}

Result<int> exec(const Given& given, Invocation& call) {
  if (call.command.empty()) {
    call.console.hint("keiko exec: no command; write it behind --, as in keiko exec " + given.job +
                      " -- nvidia-smi");
    return kExitUsage;
  }
  v1::AttachOpen open;
  for (const std::string& word : call.command) open.add_argv(word);
  return enter(given, call, std::move(open));
}

Result<int> shell(const Given& given, Invocation& call) {
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
    call.console.hint("keiko shell: needs a terminal; in a script use keiko exec " + given.job +
                      " -- sh -c '...'");
    return kExitUsage;
  }
  v1::AttachOpen open;
  open.set_terminal(true);
  const std::string kind = call.variable("TERM");
  if (!kind.empty()) (*open.mutable_env())["TERM"] = kind;
  return enter(given, call, std::move(open));
}

}  // namespace

Verb verb_exec() {
  Verb verb;
  verb.name = "exec";
  verb.group = "Jobs";
  verb.summary = "Run a command in a running worker";
  verb.about =
      "The command has the worker's environment, directory, user, limits and devices, and goes "
      "through the server: no ssh and no open port on the node. Standard input is passed on, and "
      "so are Ctrl-C and other signals; the third Ctrl-C leaves at once. The exit status is the "
      "command's own (128 + signal if a signal ended it), or one of the list below if it did not "
      "run to its end. The command and all it started are killed when it ends, when this program "
      "goes away or when the worker ends; the worker is never touched by it.";
  verb.examples = {"keiko exec j12 -- nvidia-smi", "keiko exec j12 --rank 3 -- ps aux",
                   "keiko exec j12 -- tar c out | tar x"};
  verb.takes_command = true;
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    add_worker_options(options, *given);
    return [given](Invocation& call) { return exec(*given, call); };
  };
  return verb;
}

Verb verb_shell() {
  Verb verb;
  verb.name = "shell";
  verb.group = "Jobs";
  verb.summary = "Open a shell in a running worker";
  verb.about =
      "The worker's $SHELL, or /bin/sh, in a terminal of its own on the worker's node; otherwise "
      "as `keiko exec`. All keys go to the shell; leave with exit or Ctrl-D.";
  verb.examples = {"keiko shell j12", "keiko shell j12 --rank 3"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    add_worker_options(options, *given);
    return [given](Invocation& call) { return shell(*given, call); };
  };
  return verb;
}

}  // namespace keiko::cli
