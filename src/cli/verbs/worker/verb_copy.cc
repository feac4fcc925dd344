// keiko cp: files into a running worker and out of it, through the server.
#include <unistd.h>

#include "cli/attach/copy.h"
#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "cli/verbs/worker/worker_options.h"

namespace keiko::cli {
namespace {

struct Given {
  std::string from;
  std::string to;
  bool recursive = false;
  int64_t rank = 0;
};

Result<int> copy(const Given& given, Invocation& call) {
  CopyOrder order;
  std::string job;
  std::string other;
  const bool out_of = split_remote(given.from, job, order.remote);
  order.into_worker = !out_of && split_remote(given.to, job, order.remote);
  std::string unused;
  if (out_of == order.into_worker || (out_of && split_remote(given.to, other, unused))) {
    call.console.hint("keiko cp: one of the two must be a worker's, as in keiko cp j12:out.txt . "
                      "or keiko cp in.txt j12:; a file here with a colon is ./a:b");
    return kExitUsage;
  }
  order.local = out_of ? given.to : given.from;
  order.recursive = given.recursive;
  order.progress = isatty(STDERR_FILENO) == 1;
  const SignalStream signals;  // before anything dials
  order.server = TRY(call.connection.address());
  order.worker = TRY(worker_named(job, given.rank, call));
  return copy_files(order, signals, call.console);
}

}  // namespace

Verb verb_copy() {
  Verb verb;
  verb.name = "cp";
  verb.group = "Jobs";
  verb.summary = "Copy files into a running worker or out of it";
  verb.about =
      "ID:PATH is a path of the worker, relative to its working directory; the other is here. It "
      "goes through the server, as the worker's user and within its limits, and needs no program "
      "in "
      "the worker. Into a folder that is there it goes under its own name; else it gets the name "
      "that is given. Permission bits and times of change are kept (not set-uid and set-gid), "
      "symbolic links within a folder stay links, and none is followed at the destination. A file "
      "has its name only once it is whole, so a copy that breaks leaves no half of one.";
  verb.examples = {"keiko cp j12:out/model.pt .", "keiko cp -r data j12:",
                   "keiko cp -r j12:/tmp/trace ./trace --rank 3"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    options.positional("FROM", given->from, "a file or folder: ID:PATH or one that is here");
    options.positional("TO", given->to, "where it goes: ID:PATH or one that is here");
    options.flag("-r,--recursive", given->recursive, "folders with all that is in them");
    add_rank(options, given->rank);
    return [given](Invocation& call) { return copy(*given, call); };
  };
  return verb;
}

}  // namespace keiko::cli
