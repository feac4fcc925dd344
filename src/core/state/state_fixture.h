// Small worlds for the tests of the law: a node, a job, and events that fit together.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/state/event.h"

namespace keiko {

inline NodeSpec node_spec(const std::string& name, int32_t devices,
                          const std::string& kind = "cpu") {
  NodeSpec spec;
  spec.name = name;
  spec.instance = "instance-of-" + name;
  spec.address = "10.0.0.1";
  spec.cpu_milli = 8000;
  spec.memory = gibibytes(32);
  for (int32_t i = 0; i < devices; ++i) {
    Device device;
    device.uuid = name + "-" + std::to_string(i);
    device.kind = kind;
    device.vendor = kind;
    device.index = i;
    device.memory = gibibytes(16);
    spec.devices.push_back(device);
  }
  return spec;
}

inline JobSpec job_spec(int32_t workers, int32_t devices) {
  JobSpec spec;
  spec.name = "job";
  spec.command = {"true"};
  spec.workers = workers;
  spec.devices = devices;
  spec.restarts = 3;
  return spec;
}

/// A state and a clock that moves a second with every event.
struct Tables {
  State state;
  Time now{seconds(1000).ns};
  std::vector<std::string> journal;  ///< what was accepted

  Done apply(StateBody body) {
    now = now + seconds(1);
    const StateEvent event{now, std::move(body)};
    Done applied = keiko::apply(state, event);
    if (applied.ok()) journal.push_back(encode_event(event));
    return applied;
  }

  NodeId add_node(const std::string& name, int32_t devices, const std::string& kind = "cpu") {
    const NodeId id{state.next_node};
    MUST(apply(NodeJoined{id, node_spec(name, devices, kind)}));
    return id;
  }

  JobId add_job(JobSpec spec, const std::string& token = {}) {
    const JobId id{state.next_job};
    MUST(apply(JobSubmitted{id, std::move(spec), token}));
    return id;
  }

  const JobState& job(JobId id) const { return state.jobs.at(id); }
  const NodeState& node(NodeId id) const { return state.nodes.at(id); }

  Done place(JobId id, std::vector<Placement> placements) {
    return apply(JobPlaced{id, job(id).attempt + 1, std::move(placements), "test"});
  }
  Done end(JobId id, int32_t rank, EndCause cause = EndCause::kExited, int32_t code = 0) {
    WorkerEnd end;
    end.cause = cause;
    end.exit_code = code;
    return apply(WorkerEnded{{id, job(id).attempt, rank}, end});
  }
  Done conclude(JobId id, AttemptOutcome outcome) {
    AttemptEnded ended;
    ended.job = id;
    ended.attempt = job(id).attempt;
    ended.outcome = outcome;
    ended.why = "because";
    return apply(std::move(ended));
  }
};

}  // namespace keiko
