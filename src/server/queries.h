// Questions about the state, with bounded work: a page has at most 1,000 entries and looks at most
// at kMaxScan, then hands back what it found and where to go on. On the loop thread.
#pragma once

#include "keiko/v1/cluster.pb.h"
#include "server/server_loop.h"

namespace keiko::server {

inline constexpr int32_t kDefaultPage = 100;
inline constexpr int32_t kMaxPage = 1000;
inline constexpr size_t kMaxScan = 20'000;

/// RETURNS: kInvalidArgument for a bad page size, token or status.
Result<v1::ListJobsResponse> list_jobs(const View& view, const v1::ListJobsRequest& request);
Result<v1::ListNodesResponse> list_nodes(const View& view, const v1::ListNodesRequest& request);

/// RETURNS: kNotFound, kInvalidArgument for what is no id.
Result<v1::Job> get_job(const View& view, const std::string& job);
Result<v1::Node> get_node(const View& view, const std::string& node);
Result<v1::ExplainJobResponse> explain_job(const View& view, const std::string& job);

/// A job by id. RETURNS: as get_job; the pointer is never null.
Result<const JobState*> find_job(const State& state, const std::string& job);
/// A node by name or id.
Result<const NodeState*> find_node(const State& state, const std::string& node);

}  // namespace keiko::server
