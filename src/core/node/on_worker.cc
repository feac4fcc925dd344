// News of the workers themselves.
#include <csignal>

#include "core/node/node_steps.h"

namespace keiko::node {
namespace {

/// How long a worker may hang after SIGKILL until it is given up. Disks and drivers that are only
/// slow need seconds; its job waits all the while.
constexpr Duration kHangPatience = seconds(10);

}  // namespace

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

/// The signal waits for the process and ends it before it runs any further, so its job may go on
/// elsewhere; what the kernel does with its devices meanwhile nobody knows.
void NodeSteps::on(const WorkerHangs& event) {
  const auto found = brain_.workers_.find(event.key);
  if (found == brain_.workers_.end() || event.pids.empty()) return;
  NodeBrain::Worker& worker = found->second;
  if (!is_live(worker.report) || worker.killed_at == Time{}) return;
  const Duration waited = now_ - worker.killed_at;
  if (waited < kHangPatience) return;
  const int64_t pid = event.pids.front();
  const std::string why = "process " + std::to_string(pid) +
                          " waits in the kernel (state D), and SIGKILL has not reached it for " +
                          to_text(waited);
  worker.report.status = WorkerStatus::kEnded;
  worker.report.end.cause = cause_of_stop(worker);
  worker.report.end.signal = SIGKILL;
  worker.report.end.last_words = why;
  effects_.push_back(GiveUp{event.key, pid, why});
  news_ = true;
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
