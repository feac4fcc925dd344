// From a matched route and a body to the contract's requests. Pure; unknown parameters are errors,
// as a misspelled filter that is ignored shows the wrong jobs.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "keiko/v1/cluster.pb.h"
#include "server/http/http_router.h"

namespace keiko::server {

Result<v1::ListJobsRequest> list_jobs_request(const RouteMatch& match);
Result<v1::SubmitJobRequest> submit_job_request(const RouteMatch& match, const std::string& body);
Result<v1::ActOnJobRequest> act_on_job_request(const RouteMatch& match, const std::string& body);
Result<v1::ActOnNodeRequest> act_on_node_request(const RouteMatch& match, const std::string& body);
/// Also for /v1/devices.
Result<v1::ListNodesRequest> list_nodes_request(const RouteMatch& match);
Result<v1::GetHistoryRequest> get_history_request(const RouteMatch& match);
/// Spans are counted back from `now`.
Result<v1::ReadLogsRequest> read_logs_request(const RouteMatch& match,
                                              const std::string& last_event_id, WallTime now);
Result<v1::WatchEventsRequest> watch_events_request(const RouteMatch& match,
                                                    const std::string& last_event_id);
/// For routes that take no parameters.
Done no_parameters(const RouteMatch& match);

/// RETURNS: the HTTP status that stands for `code`.
int http_status(Code code);

/// RETURNS: {"error":{"code":...,"message":...,"where":...}}.
std::string error_json(const Error& error);

}  // namespace keiko::server
