// What an agent says it has, against what it should have. Level-triggered: the same report twice,
// or one that is missed, changes nothing in the end.
#include <algorithm>

#include "core/cluster/brain_steps.h"

namespace keiko::cluster {

void BrainSteps::on(const ReportReceived& event) {
  const auto found = brain_.node_by_connection_.find(event.connection);
  if (found == brain_.node_by_connection_.end()) return;
  NodeSight& sight = brain_.sights_[found->second];
  const AgentReport& report = event.report;
  if (report.session != sight.session || report.sequence <= sight.last_report) return;
  sight.last_report = report.sequence;
  sight.last_heard = now_;
  sight.lease = brain_.state_.lease.lease;
  see(found->second);
  send(found->second, ReportAck{report.sequence});
  if (takes_workers_along(found->second, report)) sight.leaving = event.connection;
  reconcile(found->second, report.workers);
  settle_touched();
}

/// An agent that ends its workers because it was told to stop takes no new ones. The same ends may
/// come again from its successor, but only of workers that nobody wants any more.
bool BrainSteps::takes_workers_along(NodeId node, const AgentReport& report) {
  return std::any_of(report.workers.begin(), report.workers.end(), [&](const WorkerReport& one) {
    return one.end.cause == EndCause::kNodeLeft && brain_.wanted_[node].contains(one.key);
  });
}

void BrainSteps::reconcile(NodeId node, const std::vector<WorkerReport>& reports) {
  std::map<WorkerKey, WorkerReport>& reported = brain_.sights_[node].workers;
  reported.clear();
  for (const WorkerReport& report : reports) {
    reported.insert_or_assign(report.key, report);
    take_report(node, report);
  }
  std::vector<WorkerKey> missing;
  for (const auto& [key, sent] : brain_.wanted_[node]) {
    if (!reported.contains(key)) missing.push_back(key);
  }
  for (const WorkerKey& key : missing) answer_missing(node, key);
}

void BrainSteps::take_report(NodeId node, const WorkerReport& report) {
  const WorkerKey& key = report.key;
  if (!brain_.wanted_[node].contains(key)) return answer_stray(node, report);
  const JobState& gang = *job(key.job);
  const WorkerState& worker = gang.workers[static_cast<size_t>(key.rank)];
  const bool leads = gang.workers[0].place.node == node;
  if (leads && report.master_port > 0 && gang.master_port == 0 &&
      commit(RendezvousReady{key.job, key.attempt, report.master_port})) {
    if (gang.intent == StopIntent::kNone) start_workers(gang);
  }
  const bool runs =
      report.status == WorkerStatus::kRunning || report.status == WorkerStatus::kStopping;
  if (runs && worker.status == WorkerStatus::kStarting) commit(WorkerStarted{key});
  if (!report.checkpoint.ref.empty() && report.checkpoint.step > gang.checkpoint.step) {
    CheckpointMark mark = report.checkpoint;
#ifdef KEIKO_BUG_CHECKPOINT_AHEAD
    mark.step += 1;
#endif
    commit(CheckpointCommitted{key.job, key.attempt, std::move(mark)});
  }
  if (report.progress) brain_.progress_[key] = *report.progress;
  if (report.status == WorkerStatus::kEnded) {
    end_worker(key, report.end);
    send(node, ForgetWorker{key});
  } else if (gang.intent != StopIntent::kNone && report.status != WorkerStatus::kStopping) {
    remind(node, key);
  }
}

/// A worker that nobody wants here: of another attempt, of a job that has ended, or never ours.
void BrainSteps::answer_stray(NodeId node, const WorkerReport& report) {
  std::map<WorkerKey, Time>& strays = brain_.sights_[node].strays;
  if (report.status == WorkerStatus::kEnded) {
    strays.erase(report.key);
    return send(node, ForgetWorker{report.key});
  }
  if (report.status == WorkerStatus::kStopping) return;
  Time& told = strays[report.key];
  if (told.ns != 0 && now_ - told < brain_.state_.lease.heartbeat) return;
  told = now_;
  const JobState* owner = job(report.key.job);
  const Duration grace =
      owner == nullptr ? kWoundedGrace : std::min(owner->spec.grace, kWoundedGrace);
  send(node, StopWorker{report.key, grace, "it is not wanted here"});
}

/// A worker that should be there and is not in the report.
void BrainSteps::answer_missing(NodeId node, const WorkerKey& key) {
  const WorkerState& worker = job(key.job)->workers[static_cast<size_t>(key.rank)];
  if (worker.status == WorkerStatus::kStarting) return remind(node, key);
  WorkerEnd end;
  end.cause = EndCause::kVanished;
  end.last_words = "its agent no longer knows it";
  end_worker(key, end);
}

/// Repeats the command about one worker, but not more often than heartbeats come: a command may
/// still be under way.
void BrainSteps::remind(NodeId node, const WorkerKey& key) {
#ifdef KEIKO_BUG_NO_REMINDER
  return;
#endif
  const Time sent = brain_.wanted_[node][key];
  if (sent.ns != 0 && now_ - sent < brain_.state_.lease.heartbeat) return;
  const JobState& gang = *job(key.job);
  const WorkerState& worker = gang.workers[static_cast<size_t>(key.rank)];
  if (gang.intent != StopIntent::kNone) {
    stop_worker(gang, worker);
  } else {
    start_worker(gang, worker);
  }
}

}  // namespace keiko::cluster
