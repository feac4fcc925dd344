// The life of the workers of one attempt: the rendezvous port, starts and ends.
#include <algorithm>

#include "core/state/derived.h"

namespace keiko {
namespace {

Result<WorkerState*> find_worker(JobState& job, const char* event, int32_t rank) {
  if (rank < 0 || static_cast<size_t>(rank) >= job.workers.size()) {
    return misfit(event, to_text(job.id) + " has no rank " + std::to_string(rank));
  }
  WorkerState* worker = &job.workers[static_cast<size_t>(rank)];
  if (worker->status == WorkerStatus::kEnded) {
    return misfit(event, "rank " + std::to_string(rank) + " has ended already");
  }
  return worker;
}

/// A short program may end before its peers have started: it has run as well.
bool has_run(const WorkerState& worker) {
  if (worker.status != WorkerStatus::kEnded) return worker.status != WorkerStatus::kStarting;
  return worker.end.cause == EndCause::kExited && worker.end.exit_code == 0;
}

bool all_run(const JobState& job) {
  return std::all_of(job.workers.begin(), job.workers.end(), has_run);
}

int32_t ended_count(const JobState& job) {
  int32_t count = 0;
  for (const WorkerState& worker : job.workers) count += worker.status == WorkerStatus::kEnded;
  return count;
}

void note_running(JobState& job, Time at) {
  if (job.status != JobStatus::kStarting || !all_run(job)) return;
  job.status = JobStatus::kRunning;
  job.running_since = at;
  job.message = std::to_string(job.workers.size()) +
                (job.workers.size() == 1 ? " worker runs" : " workers run");
  add_timeline(job, at, "running", job.message);
}

}  // namespace

Done apply_body(State& state, Time /*at*/, const RendezvousReady& event) {
  JobState* job = TRY(find_attempt(state, event.kName, event.job, event.attempt));
  if (event.port < 1 || event.port > 65535) return misfit(event.kName, "that is no port");
  if (job->master_port != 0) return misfit(event.kName, "the port is known already");
  job->master_port = event.port;
  return done();
}

Done apply_body(State& state, Time at, const WorkerStarted& event) {
  JobState* job = TRY(find_attempt(state, event.kName, event.key.job, event.key.attempt));
  WorkerState* worker = TRY(find_worker(*job, event.kName, event.key.rank));
  if (worker->status != WorkerStatus::kStarting) return misfit(event.kName, "it runs already");
  worker->status = WorkerStatus::kRunning;
  note_running(*job, at);
  return done();
}

Done apply_body(State& state, Time at, const WorkerEnded& event) {
  JobState* job = TRY(find_attempt(state, event.kName, event.key.job, event.key.attempt));
  WorkerState* worker = TRY(find_worker(*job, event.kName, event.key.rank));
  give_back_capacity(state, *job, *worker);
  worker->end_order = ended_count(*job) + 1;
  worker->status = WorkerStatus::kEnded;
  worker->end = event.end;
  note_running(*job, at);
  return done();
}

}  // namespace keiko
