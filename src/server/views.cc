// Field by field from the tables to the contract.
#include "server/views.h"

#include <algorithm>

#include "wire/convert.h"

namespace keiko::server {
namespace {

void set_time(Time time, google::protobuf::Timestamp* (v1::Job::*field)(), v1::Job& out) {
  if (time != Time{}) set_proto(*(out.*field)(), time);
}

void add_worker(const View& view, const JobState& job, const WorkerState& worker, v1::Job& out) {
  v1::Worker& added = *out.add_workers();
  added.set_rank(worker.place.rank);
  added.set_node(node_name(view.state, worker.place.node));
  added.mutable_devices()->Assign(worker.place.devices.begin(), worker.place.devices.end());
  added.set_status(to_text(worker.status));
  if (worker.status == WorkerStatus::kEnded) *added.mutable_end() = to_proto(worker.end);
  const WorkerKey key{job.id, job.attempt, worker.place.rank};
  if (const auto progress = view.brain.progress_of(key))
    *added.mutable_progress() = to_proto(*progress);
  const cluster::NodeSight* sight = view.brain.sight_of(worker.place.node);
  if (sight == nullptr) return;
  const auto report = sight->workers.find(key);
  if (report == sight->workers.end() || worker.status == WorkerStatus::kEnded) return;
  if (report->second.pid > 0) added.set_pid(report->second.pid);
}

void set_places(const View& view, const JobState& job, v1::Job& out) {
  std::set<NodeId> seen;
  int32_t running = 0;
  std::optional<Progress> furthest;
  for (const WorkerState& worker : job.workers) {
    if (seen.insert(worker.place.node).second) {
      out.add_nodes(node_name(view.state, worker.place.node));
    }
    running += worker.status == WorkerStatus::kRunning ? 1 : 0;
    const auto progress = view.brain.progress_of({job.id, job.attempt, worker.place.rank});
    if (progress && (!furthest || progress->step > furthest->step)) furthest = progress;
  }
  out.set_workers_running(running);
  if (furthest) *out.mutable_progress() = to_proto(*furthest);
}

void add_timeline(const JobState& job, v1::Job& out) {
  for (const TimelineEntry& entry : job.timeline) {
    v1::TimelineEntry& added = *out.add_timeline();
    set_proto(*added.mutable_at(), entry.at);
    added.set_attempt(entry.attempt);
    added.set_what(entry.what);
    added.set_text(entry.text);
  }
}

void set_devices(const NodeState& node, const DeviceHolders& holders, v1::Node& out) {
  int32_t taken = 0;
  for (const Device& device : node.spec.devices) {
    v1::Device& added = *out.add_devices();
    added = to_proto(device);
    const auto holder = holders.find({node.id, device.index});
    if (holder != holders.end()) added.set_worker(to_text(holder->second));
    const size_t index = static_cast<size_t>(device.index);
    taken += index < node.device_taken.size() && node.device_taken[index] ? 1 : 0;
  }
  out.set_devices_taken(taken);
}

/// What a device or a machine said last, beside what it is.
void set_readings(const View& view, uint64_t connection, v1::Node& out) {
  std::optional<v1::ReadingReport> report = view.readings.find(connection);
  if (!report) return;
  if (report->has_node()) out.mutable_reading()->Swap(report->mutable_node());
  for (v1::Device& device : *out.mutable_devices()) {
    const auto reading = report->mutable_devices()->find(device.uuid());
    if (reading != report->mutable_devices()->end()) {
      device.mutable_reading()->Swap(&reading->second);
    }
  }
}

}  // namespace

std::string node_name(const State& state, NodeId node) {
  const auto found = state.nodes.find(node);
  return found == state.nodes.end() ? to_text(node) : found->second.spec.name;
}

v1::Job view_of(const View& view, const JobState& job, Detail detail) {
  v1::Job out;
  out.set_id(to_text(job.id));
  *out.mutable_spec() = to_proto(job.spec);
  out.set_status(to_text(job.status));
  const Verdict* verdict = view.brain.verdict_of(job.id);
  const bool waits = job.status == JobStatus::kPending && verdict != nullptr;
  out.set_reason(to_text(waits ? verdict->reason : job.reason));
  out.set_message(waits ? verdict->sentence : job.message);
  out.set_held(job.held);
  out.set_attempt(job.attempt);
  set_places(view, job, out);
  if (job.checkpoint != CheckpointMark{}) *out.mutable_checkpoint() = to_proto(job.checkpoint);
  out.set_user_faults(job.user_faults);
  out.set_infra_faults(job.infra_faults);
  for (const NodeId node : job.excluded) out.add_excluded(node_name(view.state, node));
  set_time(job.submitted_at, &v1::Job::mutable_submitted_at, out);
  set_time(job.not_before, &v1::Job::mutable_not_before, out);
  set_time(job.started_at, &v1::Job::mutable_started_at, out);
  set_time(job.running_since, &v1::Job::mutable_running_since, out);
  set_time(job.ended_at, &v1::Job::mutable_ended_at, out);
  out.set_exit_code(job.exit_code);
  out.set_master_address(job.master_address);
  out.set_master_port(job.master_port);
  if (detail == Detail::kListing) {
    out.mutable_spec()->clear_env();
    return out;
  }
  for (const WorkerState& worker : job.workers) add_worker(view, job, worker, out);
  add_timeline(job, out);
  return out;
}

v1::Node view_of(const View& view, const NodeState& node, Detail detail,
                 const DeviceHolders& holders) {
  v1::Node out;
  out.set_id(to_text(node.id));
  out.set_name(node.spec.name);
  out.set_status(to_text(view.brain.status_of(node.id, view.now)));
  out.set_address(node.spec.address);
  out.set_cpu_milli(node.spec.cpu_milli);
  out.set_memory(node.spec.memory.count);
  set_devices(node, holders, out);
  out.mutable_labels()->insert(node.spec.labels.begin(), node.spec.labels.end());
  out.set_version(node.spec.version);
  out.set_image_runtime(node.spec.image_runtime);
  out.set_image_trouble(node.spec.image_trouble);
  out.set_cordoned(node.cordoned);
  out.set_draining(node.draining);
  out.set_duty_why(view.brain.why_no_work(node.id));
  out.set_lost(node.lost);
  set_proto(*out.mutable_joined_at(), node.joined_at);
  if (node.lost) set_proto(*out.mutable_lost_at(), node.lost_at);
  const cluster::NodeSight* sight = view.brain.sight_of(node.id);
  if (sight != nullptr && !node.lost) {
    out.set_connected(sight->connection != 0);
    // One that has not spoken since this server started was not heard of by anybody.
    if (sight->newest_connection != 0) {
      set_proto(*out.mutable_last_heard(), std::max(view.now - sight->last_heard, Duration{}));
    }
    set_readings(view, sight->connection, out);
  }
  out.set_cpu_taken_milli(node.cpu_taken_milli);
  out.set_memory_taken(node.memory_taken.count);
  out.set_worker_count(node.worker_count);
  out.set_boot_id(node.spec.boot_id);
  if (node.spec.isolation) *out.mutable_isolation() = to_proto(*node.spec.isolation);
  if (sight != nullptr) {
    for (const SubjectHealth& health : sight->health.subjects) *out.add_health() = to_proto(health);
  }
  if (detail == Detail::kListing) return out;
  if (sight != nullptr) {
    for (const IncidentRecord& incident : sight->health.incidents) {
      *out.add_incidents() = to_proto(incident);
    }
  }
  for (const Link& link : node.spec.links) *out.add_links() = to_proto(link);
  if (node.spec.host) *out.mutable_host() = to_proto(*node.spec.host);
  return out;
}

DeviceHolders device_holders(const State& state) {
  DeviceHolders holders;
  for (const JobId id : state.active) {
    const JobState& job = state.jobs.at(id);
    for (const WorkerState& worker : job.workers) {
      if (worker.status == WorkerStatus::kEnded) continue;
      for (const int32_t device : worker.place.devices) {
        holders[{worker.place.node, device}] = {id, job.attempt, worker.place.rank};
      }
    }
  }
  return holders;
}

}  // namespace keiko::server
