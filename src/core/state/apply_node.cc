// Nodes come, go and are put on or off duty.
#include "core/state/derived.h"

namespace keiko {

// A node that comes back keeps its id, its duty and whatever is placed on it. Hardware that changed
// while workers are placed is refused: the brain ends those workers first.
Done apply_body(State& state, Time at, const NodeJoined& event) {
  TRY(check_lawful(event.kName, event.spec));
  const auto named = state.node_by_name.find(event.spec.name);
  if (named != state.node_by_name.end() && named->second != event.node) {
    return misfit(event.kName, event.spec.name + " is " + to_text(named->second));
  }
  const bool fresh = named == state.node_by_name.end();
  if (fresh && event.node.number != state.next_node) {
    return misfit(event.kName, to_text(event.node) + " is not the next node");
  }
  if (!fresh) {
    const NodeState& known = state.nodes.at(event.node);
    const bool same = known.spec.devices == event.spec.devices &&
                      known.spec.cpu_milli == event.spec.cpu_milli &&
                      known.spec.memory == event.spec.memory;
    if (!same && known.worker_count > 0) {
      return misfit(event.kName, event.spec.name + " changed while workers are placed on it");
    }
  }
  if (fresh) ++state.next_node;
  NodeState& node = state.nodes[event.node];
  node.id = event.node;
  node.spec = event.spec;
  node.device_taken.resize(event.spec.devices.size());
  node.joined_at = at;
  node.lost = false;
  node.forgotten = false;
  state.node_by_name[event.spec.name] = event.node;
  return done();
}

// The workers there were ended before, one by one: a lost node holds none.
Done apply_body(State& state, Time at, const NodeLost& event) {
  NodeState* node = TRY(find_node(state, event.kName, event.node));
  if (node->lost) return misfit(event.kName, node->spec.name + " is lost already");
  if (node->worker_count > 0) return misfit(event.kName, node->spec.name + " still has workers");
  node->lost = true;
  node->lost_at = at;
  return done();
}

Done apply_body(State& state, Time /*at*/, const NodeDuty& event) {
  NodeState* node = TRY(find_node(state, event.kName, event.node));
  if (node->forgotten) return misfit(event.kName, node->spec.name + " is forgotten");
  node->cordoned = event.cordoned;
  node->draining = event.draining;
  node->duty_why = event.cordoned || event.draining ? event.why : "";
  return done();
}

Done apply_body(State& state, Time /*at*/, const NodeForgotten& event) {
  NodeState* node = TRY(find_node(state, event.kName, event.node));
  if (!node->lost) return misfit(event.kName, node->spec.name + " is not lost");
  if (node->forgotten) return misfit(event.kName, node->spec.name + " is forgotten already");
  node->forgotten = true;
  node->cordoned = false;
  node->draining = false;
  node->duty_why.clear();
  node->spec.devices.clear();
  node->spec.links.clear();
  node->device_taken.clear();
  return done();
}

Done apply_body(State& state, Time /*at*/, const OptionsChanged& event) {
  TRY(check_lawful(event.kName, event.lease));
  state.lease = event.lease;
  state.policy = event.policy;
  return done();
}

}  // namespace keiko
