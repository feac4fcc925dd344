// The table of the client verbs: one row each, one verb_<name>.cc each.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"

namespace keiko::cli {

/// The verbs that talk to a server, in the order of the help.
std::vector<Verb> client_verbs();

/// Prints the version of this program.
void console_version(const Console& console, const std::string& version);

Verb verb_submit();
Verb verb_run();
Verb verb_jobs();
Verb verb_job();
Verb verb_watch();
Verb verb_why();
Verb verb_logs();
Verb verb_exec();
Verb verb_shell();
Verb verb_port_forward();
Verb verb_copy();
Verb verb_cancel();
Verb verb_hold();
Verb verb_release();
Verb verb_requeue();
Verb verb_nodes();
Verb verb_node();
Verb verb_devices();
Verb verb_topology();
Verb verb_history();
Verb verb_cordon();
Verb verb_drain();
Verb verb_uncordon();
Verb verb_forget();
Verb verb_health();
Verb verb_incidents();
Verb verb_clear();
Verb verb_check();
Verb verb_events();
Verb verb_version();
Verb verb_completion();
Verb verb_schema();

}  // namespace keiko::cli
