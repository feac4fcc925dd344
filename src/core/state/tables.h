// The durable state of a cluster: jobs, nodes, counters. Changed by apply() alone.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/fields.h"
#include "model/job.h"
#include "model/messages.h"
#include "model/node.h"
#include "model/worker.h"

namespace keiko {

/// Where one rank runs: the devices are indices on that node.
struct Placement {
  int32_t rank = 0;
  NodeId node;
  std::vector<int32_t> devices;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "rank", s.rank);
    v(2, "node", s.node);
    v(3, "devices", s.devices);
  }
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// One rank of the current attempt, as far as it is durable.
struct WorkerState {
  Placement place;
  WorkerStatus status = WorkerStatus::kStarting;
  WorkerEnd end;
  int32_t end_order = 0;   ///< 1 for the first rank of the attempt that ended, 0 while it lives

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "place", s.place);
    v(2, "status", s.status);
    v(3, "end", s.end);
    v(4, "end_order", s.end_order);
  }
  friend bool operator==(const WorkerState&, const WorkerState&) = default;
};

/// What a user asked of a running job, carried out once its workers are gone.
enum class StopIntent : int { kNone = 0, kRestart = 1, kCancel = 2, kRequeue = 3, kFail = 4 };
std::string to_text(StopIntent intent);

/// An entry of a job's timeline, kept short: the last kMaxTimeline.
struct TimelineEntry {
  Time at;
  int32_t attempt = 0;
  std::string what;   ///< snake_case event
  std::string text;   ///< a sentence

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "at", s.at);
    v(2, "attempt", s.attempt);
    v(3, "what", s.what);
    v(4, "text", s.text);
  }
  friend bool operator==(const TimelineEntry&, const TimelineEntry&) = default;
};
inline constexpr size_t kMaxTimeline = 64;

struct JobState {
  JobId id;
  JobSpec spec;
  std::string token;              ///< the submitter's, makes submit idempotent; may be empty
  JobStatus status = JobStatus::kPending;
  Reason reason = Reason::kNone;
  std::string message;            ///< the reason as a sentence
  bool held = false;
  int32_t attempt = 0;            ///< current or last
  StopIntent intent = StopIntent::kNone;
  std::vector<WorkerState> workers;  ///< of the current attempt, by rank; empty when not placed
  int32_t master_port = 0;
  std::string master_address;
  CheckpointMark checkpoint;      ///< last committed
  int32_t user_faults = 0;        ///< since the last committed checkpoint
  int32_t infra_faults = 0;
  std::set<NodeId> excluded;      ///< suspects of the last fault, avoided by the next attempt
  Time submitted_at;
  Time not_before;                ///< back-off
  Time started_at;                ///< of the current or last attempt
  Time running_since;
  Time ended_at;                  ///< when final
  int32_t exit_code = 0;          ///< when final; 128 + signal after a signal
  std::vector<TimelineEntry> timeline;
  std::string held_why;           ///< who holds a job may say why

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "id", s.id);
    v(2, "spec", s.spec);
    v(3, "token", s.token);
    v(4, "status", s.status);
    v(5, "reason", s.reason);
    v(6, "message", s.message);
    v(7, "held", s.held);
    v(8, "attempt", s.attempt);
    v(9, "intent", s.intent);
    v(10, "workers", s.workers);
    v(11, "master_port", s.master_port);
    v(12, "master_address", s.master_address);
    v(13, "checkpoint", s.checkpoint);
    v(14, "user_faults", s.user_faults);
    v(15, "infra_faults", s.infra_faults);
    v(16, "excluded", s.excluded);
    v(17, "submitted_at", s.submitted_at);
    v(18, "not_before", s.not_before);
    v(19, "started_at", s.started_at);
    v(20, "running_since", s.running_since);
    v(21, "ended_at", s.ended_at);
    v(22, "exit_code", s.exit_code);
    v(23, "timeline", s.timeline);
    v(24, "held_why", s.held_why);
  }
  friend bool operator==(const JobState&, const JobState&) = default;
};

struct NodeState {
  NodeId id;
  NodeSpec spec;
  bool lost = false;              ///< its lease ended; cleared when it joins again
  bool cordoned = false;
  bool draining = false;
  Time joined_at;
  Time lost_at;
  /// An operator said that a lost node will not return. Kept, since ended workers name it, without
  /// devices and shown nowhere. Cleared when it joins again.
  bool forgotten = false;
  std::string duty_why;           ///< of its cordon or drain; empty if nobody said
  // Follow from the jobs' placements; kept by apply() and checked by check_state().
  std::vector<bool> device_taken; ///< by device index
  int64_t cpu_taken_milli = 0;
  Bytes memory_taken;
  int32_t worker_count = 0;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "id", s.id);
    v(2, "spec", s.spec);
    v(3, "lost", s.lost);
    v(4, "cordoned", s.cordoned);
    v(5, "draining", s.draining);
    v(6, "joined_at", s.joined_at);
    v(7, "lost_at", s.lost_at);
    v(8, "forgotten", s.forgotten);
    v(9, "duty_why", s.duty_why);
  }
};

/// The whole. Iteration order is key order everywhere.
struct State {
  uint64_t next_job = 1;
  uint64_t next_node = 1;
  uint64_t term = 0;              ///< grows with every server start
  LeaseOptions lease;
  std::string policy = "fifo";
  Time now;                       ///< of the last applied event
  std::map<JobId, JobState> jobs;
  std::map<NodeId, NodeState> nodes;

  // Follow from the tables; not encoded, rebuilt by decode_state().
  std::map<std::string, NodeId> node_by_name;
  std::map<std::string, JobId> job_by_token;
  std::set<JobId> pending;        ///< kPending
  std::set<JobId> active;         ///< placed: kStarting kRunning kRegrouping kPreempting

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "next_job", s.next_job);
    v(2, "next_node", s.next_node);
    v(3, "term", s.term);
    v(4, "lease", s.lease);
    v(5, "policy", s.policy);
    v(6, "now", s.now);
    v(7, "jobs", s.jobs);
    v(8, "nodes", s.nodes);
  }
};

/// RETURNS: the snapshot of `state`; equal durable states give equal bytes.
std::string encode_state(const State& state);

/// RETURNS: the state with everything that follows rebuilt, or kDataLoss.
Result<State> decode_state(std::string_view bytes);

Digest digest_of(const State& state);

/// Checks every invariant of the tables among themselves: no device given twice, gangs whole,
/// what-follows fields right. RETURNS: kInternal naming the first that does not hold.
Done check_state(const State& state);

}  // namespace keiko
