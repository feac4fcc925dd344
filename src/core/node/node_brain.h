// NodeBrain: the agent's decisions about the workers of one machine. An event in, effects out.
//
// It holds the lease: without a renewal it asks its workers to stop, then kills them, before the
// lease ends. It has no journal: after a restart it adopts what the substrate still knows. Called
// from one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/messages.h"

namespace keiko::node {

// ---- what comes in ----

/// First event: what the substrate found at start, ended workers included, and the lease's end as
/// the agent before this one last knew it (nothing after a reboot, or at the very first start).
struct Adopted {
  std::vector<WorkerReport> workers;
  std::optional<Time> lease_end;
};
/// The stream to the server is open: say hello.
struct Connected {};
struct Disconnected {};
struct FromServer { ServerMessage message; };
/// The substrate has news of a worker: running, ended, its port. An end's cause kSignalled becomes
/// kStopped or kLeaseEnded here if the signal was ours.
struct WorkerChanged { WorkerReport report; };
/// A worker said something on its socket.
struct WorkerSaid {
  WorkerKey key;
  std::optional<Progress> progress;
  std::optional<CheckpointMark> checkpoint;
};
/// SIGKILL was sent to the worker and processes of it wait in the kernel, which it does not reach.
/// Told again and again as long as that is so.
struct WorkerHangs { WorkerKey key; std::vector<int64_t> pids; };
struct Wake {};
/// This agent goes for good, its workers first, and no new ones are started. Each gets its job's
/// grace; adopted ones, of which that is not known, get `grace`.
struct Leave { Duration grace; std::string why; };
using EventBody = std::variant<Adopted, Connected, Disconnected, FromServer, WorkerChanged,
                               WorkerSaid, WorkerHangs, Wake, Leave>;
struct Event { Time at; EventBody body; };

// ---- what goes out ----

struct SendHello { AgentHello hello; };
struct SendReport { AgentReport report; };
/// Start it; reserve the gang's rendezvous port first if `reserve_port`, and report it at once.
struct Spawn { WorkerLaunch launch; bool reserve_port = false; };
struct SignalWorker { WorkerKey key; int signal = 0; };
/// Tell the worker over its socket, before the signal.
struct NoticeWorker { WorkerKey key; Duration deadline; std::string why; };
struct ForgetProcess { WorkerKey key; };
/// The worker hangs for good: its end is told, though `pid` is still there. Its devices are not to
/// be used until that is gone.
struct GiveUp { WorkerKey key; int64_t pid = 0; std::string why; };
/// An operator's word about the node's health.
struct ActOnHealth { HealthOrder order; };
struct WakeAt { Time at; };
struct Note { std::string name; std::string text; };
/// The server refused this agent for good, and none of its workers lives.
struct Quit { std::string why; };
using Effect = std::variant<SendHello, SendReport, Spawn, SignalWorker, NoticeWorker, ForgetProcess,
                            GiveUp, ActOnHealth, WakeAt, Note, Quit>;
using Effects = std::vector<Effect>;

class NodeBrain {
 public:
  NodeBrain(NodeSpec spec, LeaseOptions lease);

  Effects step(const Event& event);

  const NodeSpec& spec() const { return spec_; }
  bool connected() const { return connected_; }
  Time lease_end() const { return lease_end_; }
  const LeaseOptions& lease() const { return lease_; }
  /// RETURNS: how many workers may still have processes.
  size_t live_count() const;
  /// RETURNS: how many workers it reports, ended ones included.
  size_t worker_count() const { return workers_.size(); }

 private:
  friend class NodeSteps;  // the handlers, one file per event kind
  struct Worker {
    WorkerReport report;
    std::optional<Duration> grace;     ///< its job's; nothing for an adopted one
    std::optional<WorkerLaunch> held;  ///< not spawned yet: waits for rank 0's port ...
    Time held_until;                   ///< ... no longer than this
    bool stop_asked = false;
    bool lease_stop = false;  ///< the lease's end asked for it
    Time kill_at;             ///< when stop_asked: the next SIGKILL
    Time killed_at;           ///< the first SIGKILL; 0: none was sent
  };
  NodeSpec spec_;
  LeaseOptions lease_;
  bool connected_ = false;
  bool leaving_ = false;
  Session session_;
  uint64_t last_command_ = 0;
  uint64_t next_report_ = 1;
  std::map<uint64_t, Time> report_sent_at_;  ///< unanswered reports of this session
  Time hello_sent_at_;
  Time lease_end_;       ///< 0: never had one
  Time next_report_at_;
  Time wake_asked_;      ///< the last WakeAt sent
  std::string refused_why_;  ///< not empty: quit as soon as no worker lives
  std::map<WorkerKey, Worker> workers_;
  std::map<std::pair<JobId, int32_t>, int32_t> ports_;  ///< (job, attempt) → its rendezvous port
};

}  // namespace keiko::node
