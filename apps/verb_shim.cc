#include "verb_shim.h"

#include <cstdio>

#include "drivers/substrate/process/shim.h"
#include "drivers/substrate/process/visit_keeper.h"

namespace keiko::apps {

cli::Verb shim_verb() {
  cli::Verb verb;
  verb.name = "shim";
  verb.group = "Daemons";
  verb.summary = "Keep one worker (started by the agent)";
  verb.asks_server = false;
  verb.hidden = true;
  verb.raw = [](const std::vector<std::string>& words) {
    if (words.size() == 1) return shim_main(words[0]);
    std::fprintf(stderr, "keiko shim: needs a worker's folder; it is started by the agent\n");
    return 2;
  };
  return verb;
}

cli::Verb visit_verb() {
  cli::Verb verb;
  verb.name = "visit";
  verb.group = "Daemons";
  verb.summary = "Keep one command in a worker (started by the agent)";
  verb.asks_server = false;
  verb.hidden = true;
  verb.raw = [](const std::vector<std::string>&) { return visit_main(); };
  return verb;
}

}  // namespace keiko::apps
