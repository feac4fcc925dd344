// One line per unary rpc; the streams are in grpc_streams.cc.
#include "server/rpc/cluster_service.h"

#include "server/rpc/grpc_streams.h"
#include "wire/grpc_status.h"

namespace keiko::server {
namespace {

template <class Request, class Response>
grpc::ServerUnaryReactor* answer(ClusterApi& api,
                                 void (ClusterApi::*method)(const Request&, Then<Response>),
                                 grpc::CallbackServerContext* context, const Request* request,
                                 Response* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  (api.*method)(*request, [reactor, response](Result<Response> result) {
    if (!result.ok()) return reactor->Finish(to_status(result.error()));
    *response = std::move(result).value();
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

using Unary = ClusterGrpcService::Unary;
using Context = ClusterGrpcService::Context;

}  // namespace

Unary* ClusterGrpcService::SubmitJob(Context* context, const v1::SubmitJobRequest* request,
                                     v1::SubmitJobResponse* response) {
  return answer(api_, &ClusterApi::submit_job, context, request, response);
}

Unary* ClusterGrpcService::SubmitJobs(Context* context, const v1::SubmitJobsRequest* request,
                                      v1::SubmitJobsResponse* response) {
  return answer(api_, &ClusterApi::submit_jobs, context, request, response);
}

Unary* ClusterGrpcService::GetJob(Context* context, const v1::GetJobRequest* request,
                                  v1::Job* response) {
  return answer(api_, &ClusterApi::get_job, context, request, response);
}

Unary* ClusterGrpcService::ListJobs(Context* context, const v1::ListJobsRequest* request,
                                    v1::ListJobsResponse* response) {
  return answer(api_, &ClusterApi::list_jobs, context, request, response);
}

Unary* ClusterGrpcService::ActOnJob(Context* context, const v1::ActOnJobRequest* request,
                                    v1::ActOnJobResponse* response) {
  return answer(api_, &ClusterApi::act_on_job, context, request, response);
}

Unary* ClusterGrpcService::ExplainJob(Context* context, const v1::ExplainJobRequest* request,
                                      v1::ExplainJobResponse* response) {
  return answer(api_, &ClusterApi::explain_job, context, request, response);
}

Unary* NodeGrpcService::ListNodes(Context* context, const v1::ListNodesRequest* request,
                                     v1::ListNodesResponse* response) {
  return answer(api_, &ClusterApi::list_nodes, context, request, response);
}

Unary* NodeGrpcService::GetNode(Context* context, const v1::GetNodeRequest* request,
                                   v1::Node* response) {
  return answer(api_, &ClusterApi::get_node, context, request, response);
}

Unary* NodeGrpcService::ActOnNode(Context* context, const v1::ActOnNodeRequest* request,
                                     v1::ActOnNodeResponse* response) {
  return answer(api_, &ClusterApi::act_on_node, context, request, response);
}

Unary* ClusterGrpcService::GetVersion(Context* context, const v1::GetVersionRequest* request,
                                      v1::GetVersionResponse* response) {
  return answer(api_, &ClusterApi::get_version, context, request, response);
}

Unary* NodeGrpcService::GetHistory(Context* context, const v1::GetHistoryRequest* request,
                                      v1::GetHistoryResponse* response) {
  return answer(api_, &ClusterApi::get_history, context, request, response);
}

grpc::ServerWriteReactor<v1::Event>* ClusterGrpcService::WatchEvents(
    Context* context, const v1::WatchEventsRequest* request) {
  return make_event_stream(context, *request, api_.loop().events(), probe_);
}

grpc::ServerWriteReactor<v1::LogPiece>* ClusterGrpcService::ReadLogs(
    Context* context, const v1::ReadLogsRequest* request) {
  return make_log_stream(context, *request, api_.loop(), relay_);
}

}  // namespace keiko::server
