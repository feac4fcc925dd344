// Agents come and go. A name belongs to one agent state directory (`instance`) while its lease
// lives.
#include <algorithm>

#include "core/cluster/brain_steps.h"

namespace keiko::cluster {

void BrainSteps::refuse(uint64_t connection, const std::string& why) {
  note("agent_refused", "why=" + quote_text(why));
  effects_.push_back(Send{connection, {{brain_.term_, brain_.next_session_++}, 1, Refused{why}}});
  effects_.push_back(CloseConnection{connection, why});
}

/// Makes the node durable if there is news. RETURNS: false if the agent was refused.
bool BrainSteps::join(const HelloReceived& event, NodeId& id) {
  const NodeSpec& spec = event.hello.node;
  if (const Done valid = validate(spec); !valid.ok()) {
    refuse(event.connection, valid.error().message);
    return false;
  }
  State& state = brain_.state_;
  const auto named = state.node_by_name.find(spec.name);
  if (named == state.node_by_name.end()) {
    id = NodeId{state.next_node};
    return commit(NodeJoined{id, spec});
  }
  id = named->second;
  const NodeState& known = state.nodes.at(id);
  if (known.spec.instance != spec.instance && !known.lost) {
    refuse(event.connection,
           "the name '" + spec.name + "' belongs to another live agent at " + known.spec.address +
               "; start this one with --name, or wait until the other's lease has ended");
    return false;
  }
  std::optional<NodeSpec>& awaited = brain_.sights_[id].awaited;
  awaited.reset();
  if (!known.lost && known.spec == spec) return true;
  const bool same_hardware = known.spec.devices == spec.devices &&
                             known.spec.cpu_milli == spec.cpu_milli &&
                             known.spec.memory == spec.memory;
  if (!same_hardware && known.worker_count > 0) {
    awaited = spec;
    note("node_changed",
         "name=" + spec.name + " why=\"the new hardware counts once its workers have ended\"", {},
         id);
    return true;
  }
  return commit(NodeJoined{id, spec});
}

/// Makes the stream the node's only one.
void BrainSteps::take_connection(uint64_t connection, NodeId id) {
  NodeSight& sight = brain_.sights_[id];
  if (sight.connection != 0 && sight.connection != connection) {
    brain_.node_by_connection_.erase(sight.connection);
    effects_.push_back(CloseConnection{sight.connection, "replaced by a newer stream"});
  }
  const auto before = brain_.node_by_connection_.find(connection);
  if (before != brain_.node_by_connection_.end() && before->second != id) {
    brain_.sights_[before->second].connection = 0;  // it says now that it is another node
  }
  sight.newest_connection = connection;
  sight.connection = connection;
  brain_.node_by_connection_[connection] = id;
}

/// Opens a session. Until a report in it proves that the agent knows the lease as it is now, the
/// agent may count by the one before, so a shorter lease does not yet hold against it.
void BrainSteps::welcome(NodeId id) {
  NodeSight& sight = brain_.sights_[id];
  sight.session = {brain_.term_, brain_.next_session_++};
  sight.last_report = 0;
  sight.last_sent = 0;
  sight.lease = std::max(sight.lease, brain_.state_.lease.lease);
  for (auto& [key, sent] : brain_.wanted_[id]) sent = {};
  send(id, Welcome{id, brain_.state_.lease});
}

void BrainSteps::on(const HelloReceived& event) {
  // A stream says hello once, and streams are numbered as they open: a hello that comes again, or
  // late from a stream that was replaced, tells of workers as they were.
  const auto named = brain_.state_.node_by_name.find(event.hello.node.name);
  if (named != brain_.state_.node_by_name.end() &&
      event.connection <= brain_.sights_[named->second].newest_connection) {
    return;
  }
  NodeId id;
  if (!join(event, id)) return;
  take_connection(event.connection, id);
  brain_.sights_[id].last_heard = now_;
  welcome(id);
  see(id);
  reconcile(id, event.hello.workers);
  brain_.sight_check_ = std::min(brain_.sight_check_, now_ + brain_.state_.lease.slow_after);
  brain_.schedule_wanted_ = true;
  settle_touched();
}

void BrainSteps::on(const ConnectionClosed& event) {
  const auto found = brain_.node_by_connection_.find(event.connection);
  if (found == brain_.node_by_connection_.end()) return;
  NodeSight& sight = brain_.sights_[found->second];
  if (sight.connection == event.connection) sight.connection = 0;
  note("agent_disconnected", "name=" + brain_.state_.nodes.at(found->second).spec.name, {},
       found->second);
  brain_.node_by_connection_.erase(found);
}

}  // namespace keiko::cluster
