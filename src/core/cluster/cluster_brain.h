// ClusterBrain: the server's decisions. An event in, effects out; no clock, thread or I/O inside.
//
// The shell feeds it every command, agent message and due timer, then carries out the effects in
// their order: a Persist is durable before any effect behind it is done. Called from one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/state/event.h"
#include "model/messages.h"
#include "model/node_health.h"
#include "model/verdict.h"

namespace keiko::cluster {

// ---- what comes in ----

enum class JobAction : int { kCancel = 0, kHold = 1, kRelease = 2, kRequeue = 3 };
enum class NodeAction : int {
  kCordon = 0, kDrain = 1, kUncordon = 2, kForget = 3,
  kClear = 4,  ///< what is ill there is well: its agent is told
  kCheck = 5,  ///< its agent is told to test it again
};

/// A token that was used before returns the job it made: a retried submit makes no second job.
struct SubmitJob { JobSpec spec; std::string token; };
struct ActOnJob { JobId job; JobAction action = JobAction::kCancel; std::string why; };
struct ActOnNode {
  NodeId node;
  NodeAction action = NodeAction::kCordon;
  std::string why;
  std::string device;  ///< of kClear and kCheck: UUID or index; empty: the node
  std::string who;
};
struct ChangeOptions { LeaseOptions lease; std::string policy; };
using CommandBody = std::variant<SubmitJob, ActOnJob, ActOnNode, ChangeOptions>;

/// A command of a client; exactly one Reply carries the same request number.
struct Command { uint64_t request = 0; CommandBody body; };

/// An agent opened a stream; `connection` is the shell's number for it, rising with every stream.
struct HelloReceived { uint64_t connection = 0; AgentHello hello; };
struct ReportReceived { uint64_t connection = 0; AgentReport report; };
struct HealthReceived { uint64_t connection = 0; HealthReport report; };
/// The stream is gone. Nothing is inferred about the workers: the lease decides.
struct ConnectionClosed { uint64_t connection = 0; };
/// A WakeAt is due, or the shell's queue is empty: time for deadlines and the scheduler. Answers
/// every WakeAt before it: what is still to come is asked for again.
struct Wake {};

using EventBody =
    std::variant<Command, HelloReceived, ReportReceived, HealthReceived, ConnectionClosed, Wake>;
struct Event { Time at; EventBody body; };

// ---- what goes out ----

struct Persist { StateEvent event; };
struct Send { uint64_t connection = 0; ServerMessage message; };
struct CloseConnection { uint64_t connection = 0; std::string why; };
struct Reply { uint64_t request = 0; Result<JobId> result; std::string text; };
struct WakeAt { Time at; };
/// For the log, the event stream and the simulator's trace, all the same text.
struct Note { std::string name; std::string text; JobId job; NodeId node; };
using Effect = std::variant<Persist, Send, CloseConnection, Reply, WakeAt, Note>;
using Effects = std::vector<Effect>;

/// What is known of a node and not durable.
struct NodeSight {
  Time last_heard;                 ///< last report, or the server's start
  uint64_t connection = 0;         ///< 0: none
  uint64_t newest_connection = 0;  ///< the highest that ever said hello
  Session session;
  uint64_t last_report = 0;
  uint64_t last_sent = 0;
  NodeStatus shown = NodeStatus::kReady;
  std::map<WorkerKey, WorkerReport> workers;  ///< of the last report
  std::map<WorkerKey, Time> strays;           ///< told to stop though nobody wants them here, when
  uint64_t leaving = 0;            ///< the connection that takes its workers along; 0: none
  Duration lease;                  ///< the longest lease that its agent may still count by
  HealthReport health;             ///< as its agent last told it
  std::optional<NodeSpec> awaited; ///< changed hardware that counts once no worker is placed here
};

class ClusterBrain {
 public:
  /// Starts from a journal's state. `term` is this server's; every node is taken as just heard, so
  /// that no lease is ended by the server's own absence.
  ClusterBrain(State state, uint64_t term, Time now);

  /// The effects that announce the new term; call once, first.
  Effects start(Time now);

  Effects step(const Event& event);

  const State& state() const { return state_; }
  Digest digest() const { return digest_of(state_); }

  /// RETURNS: READY, SLOW, ... as seen now. REQUIRES: the node exists.
  NodeStatus status_of(NodeId node, Time now) const;
  /// RETURNS: why the node takes no new work: what was said to cordon or drain it, else what is ill
  /// of the machine itself; empty if nothing is, or nobody said. REQUIRES: the node exists.
  std::string why_no_work(NodeId node) const;
  const NodeSight* sight_of(NodeId node) const;
  /// RETURNS: the last progress of a rank, if it ever said any in this attempt.
  std::optional<Progress> progress_of(const WorkerKey& key) const;

  /// RETURNS: why a pending job did not start in the last pass, if it was looked at.
  const Verdict* verdict_of(JobId job) const;

  /// Why the job waits, and what would cure it; for a job that does not wait, where it stands.
  Verdict explain(JobId job, Time now) const;

 private:
  friend class BrainSteps;  // the handlers, one file per event kind: on_<event>.cc
  State state_;
  uint64_t term_;
  std::map<NodeId, NodeSight> sights_;
  std::map<uint64_t, NodeId> node_by_connection_;
  std::map<WorkerKey, Progress> progress_;
  std::map<JobId, Verdict> verdicts_;  ///< of the last pass, for pending jobs
  /// The live workers that each node should run, and when a command about one was last sent.
  std::map<NodeId, std::map<WorkerKey, Time>> wanted_;
  std::set<std::string> fitting_;  ///< asks known to fit the empty pool, until a node joins
  uint64_t next_session_ = 1;
  bool schedule_wanted_ = true;
  bool unsettled_ = true;  ///< a server before this one may have died amid a decision
  Time look_again_;    ///< the scheduler's own; 0: none
  Time sight_check_;   ///< no node changes how it is seen before this
  Time limit_check_;   ///< no time limit ends before this; 0: none
  Time next_wake_;     ///< the WakeAt sent and not yet answered by a Wake; 0: none
};

}  // namespace keiko::cluster
