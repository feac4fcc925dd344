// The durable events of a job, from its submission to its last attempt's end. See event.h.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/state/tables.h"

namespace keiko {

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
  std::string why;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "job", s.job);
    v(2, "why", s.why);
  }
};

struct JobReleased {
  static constexpr uint32_t kKind = 11;
  static constexpr const char* kName = "job_released";
  JobId job;
  std::string why;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "job", s.job);
    v(2, "why", s.why);
  }
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

}  // namespace keiko
