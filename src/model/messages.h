// What agent and server say to each other, as plain structs: the wire room turns them into
// protobuf, the simulator sends them as they are.
//
// The agent's report is level-triggered: every heartbeat carries all its workers, so a lost,
// repeated or late message heals itself with the next one. Ended workers stay in the report until
// the server, having made the end durable, says forget. Commands carry the session (server term and
// a number from the server) and a sequence number within it; the agent drops commands of other
// sessions and any whose sequence is not above the last, so nothing old can start a worker.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "model/health.h"
#include "model/node.h"
#include "model/worker.h"

namespace keiko {

/// A session of one agent with one server; greater is later.
struct Session {
  uint64_t term = 0;    ///< of the server's journal; grows with every server start
  uint64_t number = 0;  ///< counted by that server
  friend constexpr auto operator<=>(const Session&, const Session&) = default;
};

/// The durations of liveness. The server sends them to each agent, so both count alike.
struct LeaseOptions {
  Duration heartbeat = seconds(1);
  Duration slow_after = seconds(3);
  Duration unreachable_after = seconds(5);
  Duration lease = seconds(10);
  /// The agent asks its workers to stop when this much of the lease is left without a renewal ...
  Duration stop_before = seconds(4);
  /// ... and kills them when this much is left: covers the kill itself and clock drift.
  Duration kill_before = seconds(2);

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "heartbeat", s.heartbeat);
    v(2, "slow_after", s.slow_after);
    v(3, "unreachable_after", s.unreachable_after);
    v(4, "lease", s.lease);
    v(5, "stop_before", s.stop_before);
    v(6, "kill_before", s.kill_before);
  }
  friend bool operator==(const LeaseOptions&, const LeaseOptions&) = default;
};
Done validate(const LeaseOptions& options);

// ---- agent to server ----

/// One worker as its agent sees it now.
struct WorkerReport {
  WorkerKey key;
  WorkerStatus status = WorkerStatus::kStarting;
  int64_t pid = 0;
  int32_t master_port = 0;            ///< set on rank 0's node once reserved
  CheckpointMark checkpoint;          ///< the latest it announced; step 0 and empty ref: none
  WorkerEnd end;                      ///< when kEnded
  std::optional<Progress> progress;   ///< the latest, if any since the last report
};

/// First message of a stream.
struct AgentHello {
  NodeSpec node;
  std::vector<WorkerReport> workers;
};

/// Heartbeat and report in one, at least every LeaseOptions::heartbeat and at every change.
struct AgentReport {
  Session session;
  uint64_t sequence = 0;              ///< grows by one per report within a session
  std::vector<WorkerReport> workers;
};

// ---- server to agent ----

/// Accepts a hello: the session, the node's id, and the lease's durations.
struct Welcome {
  NodeId node;
  LeaseOptions lease;
};

/// Refuses a hello for good (duplicate name, bad spec); the agent says so and ends.
struct Refused {
  std::string why;
};

/// Answers a report: the lease is renewed from the moment that the agent sent it.
struct ReportAck {
  uint64_t report_sequence = 0;
};

/// Start a worker; a key that the agent already has is left as it is.
struct StartWorker {
  WorkerLaunch launch;
};

/// SIGTERM, then SIGKILL after `grace`. A worker that the agent does not have is reported as ended
/// with kVanished, so that the server learns of it in any case.
struct StopWorker {
  WorkerKey key;
  Duration grace;
  std::string why;
};

/// The end of this worker is durable on the server: drop it from reports and free its folder.
struct ForgetWorker {
  WorkerKey key;
};

enum class HealthAction : int {
  kClear = 0,  ///< the subject is well: an operator says so
  kCheck = 1,  ///< test it again as soon as it is idle
};
std::string to_text(HealthAction action);  ///< "clear", "check"

/// What an operator wants of the node's health. Lost with its session: it is not repeated.
struct HealthOrder {
  HealthSubject subject;  ///< `node` is left empty: the agent's own
  HealthAction action = HealthAction::kClear;
  std::string who;
  std::string why;
};

using ServerBody = std::variant<Welcome, Refused, ReportAck, StartWorker, StopWorker, ForgetWorker,
                                HealthOrder>;

struct ServerMessage {
  Session session;
  uint64_t sequence = 0;  ///< grows within the session
  ServerBody body;
};

/// RETURNS: one line for traces: "start_worker j7.1.0".
std::string to_text(const ServerBody& body);

}  // namespace keiko
