// The words that every handler uses: commit, send, note, reply.
#include "core/cluster/brain_steps.h"

namespace keiko::cluster {
namespace {

JobId job_of(const StateBody& body) {
  return std::visit(
      [](const auto& event) -> JobId {
        if constexpr (requires { event.job; }) return event.job;
        if constexpr (requires { event.key; }) return event.key.job;
        return {};
      },
      body);
}

NodeId node_of(const StateBody& body) {
  return std::visit(
      [](const auto& event) -> NodeId {
        if constexpr (requires { event.node; }) return event.node;
        return {};
      },
      body);
}

/// The event in words, without what would only repeat the job's whole specification.
std::string note_text(const StateBody& body) {
  return std::visit(
      [](const auto& event) -> std::string {
        using Body = std::decay_t<decltype(event)>;
        if constexpr (std::is_same_v<Body, JobSubmitted>) {
          return "job=" + to_text(event.job) + " name=" + event.spec.name +
                 " workers=" + std::to_string(event.spec.workers);
        } else if constexpr (std::is_same_v<Body, NodeJoined>) {
          return "node=" + to_text(event.node) + " name=" + event.spec.name +
                 " devices=" + std::to_string(event.spec.devices.size());
        } else if constexpr (std::is_same_v<Body, JobPlaced>) {
          return "job=" + to_text(event.job) + " attempt=" + std::to_string(event.attempt) +
                 " why=" + quote_text(event.why);
        } else {
          return fields_text(event);
        }
      },
      body);
}

}  // namespace

// Applies first, then persists: the law may refuse what a handler thought right, and what it
// refuses must not reach the journal. Nothing behind the Persist is carried out before it is
// durable.
bool BrainSteps::commit(StateBody body) {
  StateEvent event{now_, std::move(body)};
  if (const Done applied = apply(brain_.state_, event); !applied.ok()) {
    note("event_refused", quote_text(applied.error().message), job_of(event.body));
    return false;
  }
  if (std::holds_alternative<NodeJoined>(event.body)) brain_.fitting_.clear();
  const char* name = std::visit([](const auto& b) { return b.kName; }, event.body);
  Note told{name, note_text(event.body), job_of(event.body), node_of(event.body)};
#ifdef KEIKO_BUG_JOURNAL_SAYS_OTHERWISE
  event.at = event.at + milliseconds(1);
#endif
  effects_.push_back(Persist{std::move(event)});
  effects_.push_back(std::move(told));
  return true;
}

void BrainSteps::send(NodeId node, ServerBody body) {
  NodeSight& sight = brain_.sights_[node];
  if (sight.connection == 0) return;
  ServerMessage message{sight.session, ++sight.last_sent, std::move(body)};
  effects_.push_back(Send{sight.connection, std::move(message)});
}

void BrainSteps::note(std::string name, std::string text, JobId job_id, NodeId node) {
  effects_.push_back(Note{std::move(name), std::move(text), job_id, node});
}

void BrainSteps::reply(uint64_t request, Result<JobId> result, std::string text) {
  effects_.push_back(Reply{request, std::move(result), std::move(text)});
}

const JobState* BrainSteps::job(JobId id) const {
  const auto found = brain_.state_.jobs.find(id);
  return found == brain_.state_.jobs.end() ? nullptr : &found->second;
}

void BrainSteps::announce_term() {
  commit(ServerStarted{brain_.term_});
  settle_all();
}

// A server may have died between two events of one decision: every gang and every drain is looked
// at afresh.
void BrainSteps::settle_all() {
  brain_.unsettled_ = false;
  touched_ = brain_.state_.active;
  for (const auto& [id, node] : brain_.state_.nodes) {
    if (node.draining) drain(id, {});
  }
  settle_touched();
}

}  // namespace keiko::cluster
