// The durable events: the only way in which State changes. Each is journaled before anything is
// told to anybody. Kinds and tags are forever: a journal written today must replay in ten years.
//
// One kind = one struct here and one apply_<kind>.cc. apply() is total: an event that does not fit
// the state is refused and changes nothing, it never crashes.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/state/tables.h"

namespace keiko {

/// A server took the term; first record of every run.
struct ServerStarted {
  static constexpr uint32_t kKind = 1;
  static constexpr const char* kName = "server_started";
  uint64_t term = 0;
  template <class S, class V> static void fields(S& s, V&& v) { v(1, "term", s.term); }
};

struct JobSubmitted {
  static constexpr uint32_t kKind = 2;
  static constexpr const char* kName = "job_submitted";
  JobId job;
  JobSpec spec;
  std::string token;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "job", s.job);
    v(2, "spec", s.spec);
    v(3, "token", s.token);
  }
};

/// The scheduler's plan for one job: every rank placed, or the event is refused.
struct JobPlaced {
  static constexpr uint32_t kKind = 3;
  static constexpr const char* kName = "job_placed";
  JobId job;
  int32_t attempt = 0;
  std::vector<Placement> placements;
  std::string why;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "job", s.job);
    v(2, "attempt", s.attempt);
    v(3, "placements", s.placements);
    v(4, "why", s.why);
  }
};

/// Rank 0's node reserved the rendezvous port of an attempt.
struct RendezvousReady {
  static constexpr uint32_t kKind = 4;
  static constexpr const char* kName = "rendezvous_ready";
  JobId job;
  int32_t attempt = 0;
  int32_t port = 0;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "job", s.job);
    v(2, "attempt", s.attempt);
    v(3, "port", s.port);
  }
};

struct WorkerStarted {
  static constexpr uint32_t kKind = 5;
  static constexpr const char* kName = "worker_started";
  WorkerKey key;
  template <class S, class V> static void fields(S& s, V&& v) { v(1, "key", s.key); }
};

/// A worker is gone for good: reported by its agent, or the node's lease ended.
struct WorkerEnded {
  static constexpr uint32_t kKind = 6;
  static constexpr const char* kName = "worker_ended";
  WorkerKey key;
  WorkerEnd end;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "key", s.key);
    v(2, "end", s.end);
  }
};

/// The gang must stop: a rank was lost, or somebody asked. `intent` says what follows.
struct JobStopping {
  static constexpr uint32_t kKind = 7;
  static constexpr const char* kName = "job_stopping";
  JobId job;
  int32_t attempt = 0;
  StopIntent intent = StopIntent::kNone;
  Reason reason = Reason::kNone;
  std::string why;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "job", s.job);
    v(2, "attempt", s.attempt);
    v(3, "intent", s.intent);
    v(4, "reason", s.reason);
    v(5, "why", s.why);
  }
};

enum class AttemptOutcome : int { kCompleted = 1, kRetry, kFailed, kCancelled, kRequeued };
std::string to_text(AttemptOutcome outcome);

/// Every worker of an attempt has ended: what becomes of the job.
struct AttemptEnded {
  static constexpr uint32_t kKind = 8;
  static constexpr const char* kName = "attempt_ended";
  JobId job;
  int32_t attempt = 0;
  AttemptOutcome outcome = AttemptOutcome::kFailed;
  Reason reason = Reason::kNone;
  std::string why;
  int32_t exit_code = 0;
  bool user_fault = false;   ///< which budget a retry is charged to
  bool infra_fault = false;
  Time not_before;           ///< back-off of a retry
  std::set<NodeId> excluded;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "job", s.job);
    v(2, "attempt", s.attempt);
    v(3, "outcome", s.outcome);
    v(4, "reason", s.reason);
    v(5, "why", s.why);
    v(6, "exit_code", s.exit_code);
    v(7, "user_fault", s.user_fault);
    v(8, "infra_fault", s.infra_fault);
    v(9, "not_before", s.not_before);
    v(10, "excluded", s.excluded);
  }
};

/// A job that is not placed was cancelled.
struct JobCancelled {
  static constexpr uint32_t kKind = 9;
  static constexpr const char* kName = "job_cancelled";
  JobId job;
  std::string why;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "job", s.job);
    v(2, "why", s.why);
  }
};

struct JobHeld {
  static constexpr uint32_t kKind = 10;
  static constexpr const char* kName = "job_held";
  JobId job;
  template <class S, class V> static void fields(S& s, V&& v) { v(1, "job", s.job); }
};

struct JobReleased {
  static constexpr uint32_t kKind = 11;
  static constexpr const char* kName = "job_released";
  JobId job;
  template <class S, class V> static void fields(S& s, V&& v) { v(1, "job", s.job); }
};

struct CheckpointCommitted {
  static constexpr uint32_t kKind = 12;
  static constexpr const char* kName = "checkpoint_committed";
  JobId job;
  int32_t attempt = 0;
  CheckpointMark mark;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "job", s.job);
    v(2, "attempt", s.attempt);
    v(3, "mark", s.mark);
  }
};

/// A node came, came back, or came with other hardware.
struct NodeJoined {
  static constexpr uint32_t kKind = 13;
  static constexpr const char* kName = "node_joined";
  NodeId node;
  NodeSpec spec;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "node", s.node);
    v(2, "spec", s.spec);
  }
};

/// The node's lease ended: its devices may be given away.
struct NodeLost {
  static constexpr uint32_t kKind = 14;
  static constexpr const char* kName = "node_lost";
  NodeId node;
  template <class S, class V> static void fields(S& s, V&& v) { v(1, "node", s.node); }
};

/// An operator cordoned, drained or uncordoned a node.
struct NodeDuty {
  static constexpr uint32_t kKind = 15;
  static constexpr const char* kName = "node_duty";
  NodeId node;
  bool cordoned = false;
  bool draining = false;
  std::string why;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "node", s.node);
    v(2, "cordoned", s.cordoned);
    v(3, "draining", s.draining);
    v(4, "why", s.why);
  }
};

/// Options that change decisions live in the state, or replay would lie.
struct OptionsChanged {
  static constexpr uint32_t kKind = 16;
  static constexpr const char* kName = "options_changed";
  LeaseOptions lease;
  std::string policy;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "lease", s.lease);
    v(2, "policy", s.policy);
  }
};

using StateBody =
    std::variant<ServerStarted, JobSubmitted, JobPlaced, RendezvousReady, WorkerStarted,
                 WorkerEnded, JobStopping, AttemptEnded, JobCancelled, JobHeld, JobReleased,
                 CheckpointCommitted, NodeJoined, NodeLost, NodeDuty, OptionsChanged>;

/// A body and when it happened on the brain's clock.
struct StateEvent {
  Time at;
  StateBody body;
};

/// RETURNS: version byte, kind, time, fields: one journal record.
std::string encode_event(const StateEvent& event);

/// RETURNS: kDataLoss for damaged bytes, kUnimplemented for a kind from a newer version.
Result<StateEvent> decode_event(std::string_view bytes);

/// RETURNS: "job_submitted job=j1 ..." without the time.
std::string to_text(const StateEvent& event);

/// The law. RETURNS: kFailedPrecondition, and the state is untouched, if the event does not fit it.
Done apply(State& state, const StateEvent& event);

}  // namespace keiko
