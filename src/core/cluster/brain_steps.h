// The handlers of the cluster brain, one file per kind of event, and the few words they share. An
// object lives for one step and collects its effects in order.
#pragma once

#include <set>
#include <string>

#include "core/cluster/cluster_brain.h"
#include "core/sched/schedule.h"
#include "core/state/derived.h"

namespace keiko::cluster {

/// Survivors of a wounded gang cannot finish a step together, and strays have no gang: neither
/// needs a long grace.
inline constexpr Duration kWoundedGrace = seconds(5);

class BrainSteps {
 public:
  BrainSteps(ClusterBrain& brain, Time now) : brain_(brain), now_(now) {}

  // on_command.cc, on_submit.cc
  void on(const Command& command);
  // on_hello.cc
  void on(const HelloReceived& event);
  void on(const ConnectionClosed& event);
  // on_report.cc
  void on(const ReportReceived& event);
  // on_health.cc
  void on(const HealthReceived& event);
  // on_wake.cc
  void on(const Wake& event);

  void announce_term();
  void ask_for_wake();

  Effects take() { return std::move(effects_); }

 private:
  // effects.cc
  void settle_all();
  bool commit(StateBody body);
  void send(NodeId node, ServerBody body);
  void note(std::string name, std::string text, JobId job = {}, NodeId node = {});
  void reply(uint64_t request, Result<JobId> result, std::string text = {});
  const JobState* job(JobId id) const;

  // on_submit.cc, on_command.cc
  Verdict feasibility_of(const JobSpec& spec);
  void carry_out(uint64_t request, const SubmitJob& submit);
  void carry_out(uint64_t request, const ActOnJob& act);
  void carry_out(uint64_t request, const ActOnNode& act);
  void act_on_health(uint64_t request, const NodeState& node, const ActOnNode& act);
  void carry_out(uint64_t request, const ChangeOptions& change);
  void hold(uint64_t request, const JobState& target, const std::string& why);
  void cancel(uint64_t request, const JobState& target, const std::string& why);
  void requeue(uint64_t request, const JobState& target, const std::string& why);
  void drain(NodeId node, const std::string& why);
  void forget(uint64_t request, const NodeState& node, const std::string& why);

  // on_hello.cc
  void refuse(uint64_t connection, const std::string& why);
  bool join(const HelloReceived& event, NodeId& node);
  void take_connection(uint64_t connection, NodeId node);
  void welcome(NodeId node);

  // on_report.cc
  bool takes_workers_along(NodeId node, const AgentReport& report);
  void reconcile(NodeId node, const std::vector<WorkerReport>& reports);
  void take_report(NodeId node, const WorkerReport& report);
  void answer_stray(NodeId node, const WorkerReport& report);
  void answer_missing(NodeId node, const WorkerKey& key);
  void remind(NodeId node, const WorkerKey& key);

  // gangs.cc: what a gang's condition asks for
  void start_workers(const JobState& gang);
  void start_worker(const JobState& gang, const WorkerState& worker);
  void stop(JobId id, StopIntent intent, Reason reason, const std::string& why);
  void stop_worker(const JobState& gang, const WorkerState& worker);
  void end_worker(const WorkerKey& key, WorkerEnd end);
  void adopt_hardware(NodeId node);
  void settle(JobId id);
  void settle_touched();

  // attempts.cc: what becomes of an attempt whose workers have all ended
  void conclude(const JobState& gang);

  // on_wake.cc
  void see(NodeId node);
  void check_sights();
  void lose(NodeId node);
  void check_limits();
  void schedule();
  void start_planned(JobId id);

  ClusterBrain& brain_;
  Time now_;
  Effects effects_;
  std::set<JobId> touched_;  ///< jobs whose workers changed in this step: settled at its end
};

/// RETURNS: what the scheduler must know beside the state: which nodes take no work at present.
sched::PassInput pass_input(const State& state, const std::map<NodeId, NodeSight>& sights,
                            Time now);

/// RETURNS: what an agent needs to start this worker.
WorkerLaunch launch_of(const State& state, const JobState& gang, const WorkerState& worker);

/// The root of a gang's failure: which rank to blame, and what for.
struct Blame {
  int32_t rank = 0;
  Reason reason = Reason::kNone;
  bool infrastructure = false;
  bool planned = false;  ///< somebody stopped the node: nobody's fault, no budget is charged
  int32_t exit_code = 0;
  std::string sentence;  ///< "rank 1 on n2 was killed from outside (signal 9)"
};
/// RETURNS: the blame among the ranks that have ended badly. REQUIRES: there is one.
Blame blame_of(const State& state, const JobState& gang);
bool ended_badly(const WorkerState& worker);

/// RETURNS: a label made of the program's name: "python3 train.py" gives "train-py".
std::string name_of_command(const std::vector<std::string>& command);

}  // namespace keiko::cluster
