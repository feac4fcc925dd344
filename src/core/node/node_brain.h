// NodeBrain: the agent's decisions about the workers of one machine. An event in, effects out.
//
// It holds the lease: without a renewal it asks its workers to stop, then kills them, before the
// lease ends. It has no journal: after a restart it adopts what the substrate still knows. Called
// from one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
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
struct WorkerSaid { WorkerKey key; std::optional<Progress> progress; std::optional<CheckpointMark> checkpoint; };
struct Wake {};
using EventBody =
    std::variant<Adopted, Connected, Disconnected, FromServer, WorkerChanged, WorkerSaid, Wake>;
struct Event { Time at; EventBody body; };

// ---- what goes out ----

struct SendHello { AgentHello hello; };
struct SendReport { AgentReport report; };
/// Start it; reserve the rendezvous port first if `reserve_port` (this is rank 0's node).
struct Spawn { WorkerLaunch launch; bool reserve_port = false; };
struct SignalWorker { WorkerKey key; int signal = 0; };
/// Tell the worker over its socket, before the signal.
struct NoticeWorker { WorkerKey key; Duration deadline; std::string why; };
struct ForgetProcess { WorkerKey key; };
struct WakeAt { Time at; };
struct Note { std::string name; std::string text; };
/// The server refused this agent for good.
struct Quit { std::string why; };
using Effect = std::variant<SendHello, SendReport, Spawn, SignalWorker, NoticeWorker, ForgetProcess,
                            WakeAt, Note, Quit>;
using Effects = std::vector<Effect>;

class NodeBrain {
 public:
  NodeBrain(NodeSpec spec, LeaseOptions lease);

  Effects step(const Event& event);

  const NodeSpec& spec() const { return spec_; }
  bool connected() const { return connected_; }
  Time lease_end() const { return lease_end_; }

 private:
  friend class NodeSteps;  // the handlers, one file per event kind
  struct Worker {
    WorkerReport report;
    bool stop_asked = false;
    bool lease_stop = false;  ///< the lease's end asked for it
    Time kill_at;             ///< when stop_asked: the next SIGKILL
  };
  NodeSpec spec_;
  LeaseOptions lease_;
  bool connected_ = false;
  Session session_;
  uint64_t last_command_ = 0;
  uint64_t next_report_ = 1;
  std::map<uint64_t, Time> report_sent_at_;  ///< unanswered reports of this session
  Time hello_sent_at_;
  Time lease_end_;       ///< 0: never had one
  Time next_report_at_;
  Time wake_asked_;      ///< the last WakeAt sent
  std::map<WorkerKey, Worker> workers_;
};

}  // namespace keiko::node
