#include "core/state/derived.h"

namespace keiko {

bool is_placed(JobStatus status) {
  return status == JobStatus::kStarting || status == JobStatus::kRunning ||
         status == JobStatus::kRegrouping || status == JobStatus::kPreempting;
}

void take_capacity(State& state, const JobState& job, const WorkerState& worker) {
  NodeState& node = state.nodes.at(worker.place.node);
  for (const int32_t device : worker.place.devices) {
    node.device_taken[static_cast<size_t>(device)] = true;
  }
#ifndef KEIKO_BUG_CPU_NOT_COUNTED
  node.cpu_taken_milli += job.spec.cpu_milli;
#endif
  node.memory_taken = node.memory_taken + job.spec.memory;
  ++node.worker_count;
}

void give_back_capacity(State& state, const JobState& job, const WorkerState& worker) {
  NodeState& node = state.nodes.at(worker.place.node);
  for (const int32_t device : worker.place.devices) {
    node.device_taken[static_cast<size_t>(device)] = false;
  }
#ifndef KEIKO_BUG_CPU_NOT_COUNTED
  node.cpu_taken_milli -= job.spec.cpu_milli;
#endif
  node.memory_taken = node.memory_taken - job.spec.memory;
  --node.worker_count;
}

void reindex(State& state, const JobState& job) {
  state.pending.erase(job.id);
  state.active.erase(job.id);
  if (job.status == JobStatus::kPending) state.pending.insert(job.id);
  if (is_placed(job.status)) state.active.insert(job.id);
}

void rebuild_derived(State& state) {
  state.node_by_name.clear();
  state.job_by_token.clear();
  state.pending.clear();
  state.active.clear();
  for (auto& [id, node] : state.nodes) {
    state.node_by_name[node.spec.name] = id;
    node.device_taken.assign(node.spec.devices.size(), false);
    node.cpu_taken_milli = 0;
    node.memory_taken = {};
    node.worker_count = 0;
  }
  for (const auto& [id, job] : state.jobs) {
    if (!job.token.empty()) state.job_by_token[job.token] = id;
    reindex(state, job);
    for (const WorkerState& worker : job.workers) {
      if (worker.status != WorkerStatus::kEnded) take_capacity(state, job, worker);
    }
  }
}

void add_timeline(JobState& job, Time at, const std::string& what, std::string text) {
  job.timeline.push_back({at, job.attempt, what, std::move(text)});
  if (job.timeline.size() > kMaxTimeline) {
    // The first entry is the submission and stays: a timeline must say when it began.
    job.timeline.erase(job.timeline.begin() + 1);
  }
}

Error misfit(const char* event, const std::string& text) {
  return failed_precondition(std::string(event) + ": " + text);
}

Result<JobState*> find_job(State& state, const char* event, JobId id) {
  const auto found = state.jobs.find(id);
  if (found == state.jobs.end()) return misfit(event, "there is no job " + to_text(id));
  return &found->second;
}

Result<JobState*> find_attempt(State& state, const char* event, JobId id, int32_t attempt) {
  JobState* job = TRY(find_job(state, event, id));
  if (!is_placed(job->status) || job->attempt != attempt) {
    return misfit(event, to_text(id) + " is " + to_text(job->status) + " in attempt " +
                             std::to_string(job->attempt) + ", not placed in attempt " +
                             std::to_string(attempt));
  }
  return job;
}

Result<NodeState*> find_node(State& state, const char* event, NodeId id) {
  const auto found = state.nodes.find(id);
  if (found == state.nodes.end()) return misfit(event, "there is no node " + to_text(id));
  return &found->second;
}

}  // namespace keiko
