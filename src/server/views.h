// The state as the contract's messages. Pure reads, on the loop thread.
#pragma once

#include "keiko/v1/job.pb.h"
#include "keiko/v1/node.pb.h"
#include "server/server_loop.h"

namespace keiko::server {

enum class Detail { kListing, kWhole };

/// A listing leaves out workers, timeline and env, which make most of a job's bytes.
v1::Job view_of(const View& view, const JobState& job, Detail detail);

/// A listing leaves out links and host. `holders`: see device_holders().
using DeviceHolders = std::map<std::pair<NodeId, int32_t>, WorkerKey>;
v1::Node view_of(const View& view, const NodeState& node, Detail detail,
                 const DeviceHolders& holders);

/// RETURNS: which worker has which device, for all nodes.
DeviceHolders device_holders(const State& state);

/// RETURNS: the node's name, or its id if it is gone.
std::string node_name(const State& state, NodeId node);

}  // namespace keiko::server
