#include "verb_shim.h"

#include <cstdio>

#include "drivers/substrate/process/shim.h"
#include "drivers/substrate/process/visit/visit_keeper.h"

namespace keiko::apps {

namespace {

/// What only the agent starts.
cli::Verb keeper_verb(const std::string& name, const std::string& summary) {
  cli::Verb verb;
  verb.name = name;
  verb.group = "Daemons";
  verb.summary = summary + " (started by the agent)";
  verb.asks_server = false;
  verb.hidden = true;
  return verb;
}

}  // namespace

cli::Verb shim_verb() {
  cli::Verb verb = keeper_verb("shim", "Keep one worker");
  verb.raw = [](const std::vector<std::string>& words) {
    if (words.size() == 1) return shim_main(words[0]);
    std::fprintf(stderr, "keiko shim: needs a worker's folder; it is started by the agent\n");
    return 2;
  };
  return verb;
}

cli::Verb visit_verb() {
  cli::Verb verb = keeper_verb("visit", "Keep one command in a worker");
  verb.raw = [](const std::vector<std::string>&) { return visit_main(); };
  return verb;
}

}  // namespace keiko::apps
