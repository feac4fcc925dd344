// News of the workers themselves.
#include "core/node/node_steps.h"

namespace keiko::node {

void NodeSteps::on(const WorkerChanged& event) {
  NodeBrain::Worker& worker = brain_.workers_[event.report.key];
  WorkerReport& known = worker.report;
  if (known.key == event.report.key && !is_live(known)) return;
  known.key = event.report.key;
  known.pid = event.report.pid;
  if (event.report.master_port != 0) known.master_port = event.report.master_port;
  learn_port(known);
  const CheckpointMark& checkpoint = event.report.checkpoint;
  if (checkpoint.step > known.checkpoint.step) known.checkpoint = checkpoint;
  const bool stopping = worker.stop_asked && is_live(event.report);
  known.status = stopping ? WorkerStatus::kStopping : event.report.status;
  if (!is_live(event.report)) {
    known.end = event.report.end;
    const EndCause cause = known.end.cause;
    const bool ran = cause == EndCause::kSignalled || cause == EndCause::kExited;
    if (worker.stop_asked && ran) known.end.cause = cause_of_stop(worker);
    effects_.push_back(Note{"worker_ended", to_text(known.key) + " " + fields_text(known.end)});
  }
  news_ = true;
}

/// Why a worker that was asked to stop is gone.
EndCause NodeSteps::cause_of_stop(const NodeBrain::Worker& worker) const {
  if (worker.lease_stop) return EndCause::kLeaseEnded;
  return brain_.leaving_ ? EndCause::kNodeLeft : EndCause::kStopped;
}

void NodeSteps::on(const WorkerSaid& event) {
  const auto found = brain_.workers_.find(event.key);
  if (found == brain_.workers_.end()) return;
  WorkerReport& report = found->second.report;
  if (event.progress) report.progress = event.progress;
  if (event.checkpoint && event.checkpoint->step > report.checkpoint.step) {
    report.checkpoint = *event.checkpoint;
    news_ = true;
  }
}

}  // namespace keiko::node
