#include "verb_sim.h"

#include "sim/command.h"

namespace keiko::apps {

cli::Verb sim_verb() {
  cli::Verb verb;
  verb.name = "sim";
  verb.group = "Other";
  verb.summary = "Run the real brains under a virtual clock";
  verb.examples = {"keiko sim --seeds 200", "keiko sim --seed 17 --trace",
                   "keiko sim scenario tests/scenarios/worker_killed.txt"};
  verb.asks_server = false;
  verb.raw = &sim::sim_main;
  return verb;
}

}  // namespace keiko::apps
