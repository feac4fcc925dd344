// keiko: every verb in one binary. Client verbs live in src/cli; the daemons' are joined to them
// here.
#include "cli/main_cli.h"
#include "verb_agent.h"
#include "verb_drivers.h"
#include "verb_journal.h"
#include "verb_server.h"
#include "verb_shim.h"
#include "verb_sim.h"
#include "verb_up.h"

#ifndef KEIKO_VERSION
#define KEIKO_VERSION "dev"
#endif

int main(int argc, char** argv) {
  using namespace keiko;
  return cli::main_cli(argc, argv,
                       {up::up_verb(), apps::server_verb(KEIKO_VERSION),
                        apps::agent_verb(KEIKO_VERSION), apps::shim_verb(), apps::visit_verb(),
                        apps::sim_verb(), apps::journal_verb(), apps::drivers_verb()},
                       KEIKO_VERSION);
}
