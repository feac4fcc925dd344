// The handlers of the node brain, one file per kind of event, and the words they share. An object
// lives for one step and collects its effects in order.
#pragma once

#include <string>

#include "core/node/node_brain.h"

namespace keiko::node {

class NodeSteps {
 public:
  NodeSteps(NodeBrain& brain, Time now) : brain_(brain), now_(now) {}

  // on_link.cc
  void on(const Adopted& event);
  void on(const Connected& event);
  void on(const Disconnected& event);
  // on_server.cc
  void on(const FromServer& event);
  // on_worker.cc
  void on(const WorkerChanged& event);
  void on(const WorkerSaid& event);
  void on(const WorkerHangs& event);
  // on_wake.cc
  void on(const Wake& event);
  void on(const Leave& event);

  /// What is due by the clock alone: stops before the lease ends, kills after a grace.
  void keep_deadlines();

  /// Sends the report if there is news or a heartbeat is due, and asks for the next wake.
  void finish();

  Effects take() { return std::move(effects_); }

 private:
  void obey(const Welcome& welcome);
  void obey(const Refused& refused);
  void obey(const ReportAck& ack);
  void obey(const StopWorker& stop);
  void obey(const ForgetWorker& forget);
  void obey(const HealthOrder& order);

  void stop(NodeBrain::Worker& worker, Duration grace, const std::string& why);
  // on_start.cc
  void obey(const StartWorker& start);
  void spawn(WorkerLaunch launch);
  void release_held();
  void end_held(NodeBrain::Worker& worker);
  EndCause cause_of_stop(const NodeBrain::Worker& worker) const;
  /// RETURNS: the port that this node reserved for the key's attempt, 0 if none yet.
  int32_t known_port(const WorkerKey& key) const;
  void learn_port(const WorkerReport& report);

  void quit_if_refused();
  void guard_lease();
  void kill_overdue();
  void send_report();
  Time next_wake() const;

  NodeBrain& brain_;
  Time now_;
  Effects effects_;
  bool news_ = false;  ///< worth a report before the next heartbeat
};

/// RETURNS: whether the worker may still have processes.
bool is_live(const WorkerReport& report);

}  // namespace keiko::node
