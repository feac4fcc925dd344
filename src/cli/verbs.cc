#include "cli/verbs.h"

namespace keiko::cli {

std::vector<Verb> client_verbs() {
  return {
      verb_submit(), verb_run(), verb_jobs(), verb_job(), verb_watch(), verb_why(), verb_logs(),
      verb_exec(), verb_shell(), verb_port_forward(), verb_copy(), verb_cancel(), verb_hold(),
      verb_release(), verb_requeue(), verb_nodes(), verb_node(), verb_devices(), verb_topology(),
      verb_history(), verb_cordon(), verb_drain(), verb_uncordon(), verb_forget(), verb_health(),
      verb_incidents(), verb_clear(), verb_check(), verb_events(), verb_version(),
      verb_completion(), verb_schema(),
      // new verbs above this line
  };
}

}  // namespace keiko::cli
