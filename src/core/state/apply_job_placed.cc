// The plan is checked again: the scheduler proposes, the law disposes.
#include <map>
#include <set>

#include "core/state/derived.h"

namespace keiko {
namespace {

/// What a plan would take from one node.
struct Taking {
  std::set<int32_t> devices;
  int64_t workers = 0;
};

Done check_devices(const JobSpec& spec, const NodeState& node, const Placement& place,
                   Taking& taking) {
  if (place.devices.size() != static_cast<size_t>(spec.devices)) {
    return misfit("job_placed", "rank " + std::to_string(place.rank) + " is given " +
                                    std::to_string(place.devices.size()) + " devices, not " +
                                    std::to_string(spec.devices));
  }
  for (const int32_t index : place.devices) {
    const std::string which = node.spec.name + "'s device " + std::to_string(index);
    if (index < 0 || static_cast<size_t>(index) >= node.spec.devices.size()) {
      return misfit("job_placed", which + " does not exist");
    }
    const Device& device = node.spec.devices[static_cast<size_t>(index)];
    if (!spec.device_kind.empty() && device.kind != spec.device_kind) {
      return misfit("job_placed", which + " is " + device.kind + ", not " + spec.device_kind);
    }
    if (device.memory < spec.device_memory) return misfit("job_placed", which + " is too small");
    if (node.device_taken[static_cast<size_t>(index)] || !taking.devices.insert(index).second) {
      return misfit("job_placed", which + " is taken");
    }
  }
  return done();
}

/// Divides instead of multiplying: workers times memory may be more than a number holds.
bool has_room(int64_t free, int64_t each, int64_t workers) {
  return each == 0 || free / each >= workers;
}

Done check_room(const JobSpec& spec, const NodeState& node, const Taking& taking) {
  if (!has_room(node.spec.cpu_milli - node.cpu_taken_milli, spec.cpu_milli, taking.workers)) {
    return misfit("job_placed", node.spec.name + " has too little cpu");
  }
  const Bytes free = node.spec.memory - node.memory_taken;
  if (!has_room(free.count, spec.memory.count, taking.workers)) {
    return misfit("job_placed", node.spec.name + " has too little memory");
  }
  return done();
}

Done check_duty(const JobSpec& spec, const NodeState& node) {
  if (node.lost || node.cordoned || node.draining) {
    return misfit("job_placed", node.spec.name + " takes no work");
  }
  for (const auto& [key, value] : spec.node_labels) {
    const auto label = node.spec.labels.find(key);
    if (label == node.spec.labels.end() || label->second != value) {
      return misfit("job_placed", node.spec.name + " does not carry the label " + key);
    }
  }
  return done();
}

Done check_placements(const State& state, const JobState& job, const JobPlaced& event) {
  if (event.placements.size() != static_cast<size_t>(job.spec.workers)) {
    return misfit(event.kName, "a gang is placed whole or not at all");
  }
  std::map<NodeId, Taking> takings;
  for (size_t rank = 0; rank < event.placements.size(); ++rank) {
    const Placement& place = event.placements[rank];
    if (place.rank != static_cast<int32_t>(rank))
      return misfit(event.kName, "ranks are not in order");
    const auto found = state.nodes.find(place.node);
    if (found == state.nodes.end()) return misfit(event.kName, "no node " + to_text(place.node));
    const NodeState& node = found->second;
    TRY(check_duty(job.spec, node));
    Taking& taking = takings[place.node];
    ++taking.workers;
    TRY(check_devices(job.spec, node, place, taking));
  }
  if (job.spec.one_node && takings.size() > 1) {
    return misfit(event.kName, "the gang must be on one node");
  }
  for (const auto& [id, taking] : takings) TRY(check_room(job.spec, state.nodes.at(id), taking));
  return done();
}

}  // namespace

Done apply_body(State& state, Time at, const JobPlaced& event) {
  JobState* job = TRY(find_job(state, event.kName, event.job));
  if (job->status != JobStatus::kPending || job->held || event.attempt != job->attempt + 1) {
    return misfit(event.kName, to_text(event.job) + " does not wait for attempt " +
                                   std::to_string(event.attempt));
  }
  TRY(check_placements(state, *job, event));
  job->status = JobStatus::kStarting;
  job->attempt = event.attempt;
  job->intent = StopIntent::kNone;
  job->reason = Reason::kNone;
  job->message = event.why;
  job->started_at = at;
  job->running_since = {};
  job->master_port = 0;
  job->master_address = state.nodes.at(event.placements[0].node).spec.address;
  job->workers.clear();
  for (const Placement& place : event.placements) {
    job->workers.push_back({place, WorkerStatus::kStarting, {}, 0});
    take_capacity(state, *job, job->workers.back());
  }
  add_timeline(*job, at, "placed", event.why);
  reindex(state, *job);
  return done();
}

}  // namespace keiko
