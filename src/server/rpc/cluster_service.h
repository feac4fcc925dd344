// ClusterService over gRPC's callback API. Only .cc files include this.
#pragma once

#include "keiko/v1/cluster.grpc.pb.h"
#include "server/cluster_api.h"
#include "server/logs/log_relay.h"

namespace keiko::server {

/// What is asked about nodes.
class NodeGrpcService : public v1::ClusterService::CallbackService {
 public:
  explicit NodeGrpcService(ClusterApi& api) : api_(api) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* ListNodes(Context*, const v1::ListNodesRequest*, v1::ListNodesResponse*) override;
  Unary* GetNode(Context*, const v1::GetNodeRequest*, v1::Node*) override;
  Unary* ActOnNode(Context*, const v1::ActOnNodeRequest*, v1::ActOnNodeResponse*) override;
  Unary* GetHistory(Context*, const v1::GetHistoryRequest*, v1::GetHistoryResponse*) override;

 protected:
  ClusterApi& api_;
};

class ClusterGrpcService : public NodeGrpcService {
 public:
  ClusterGrpcService(ClusterApi& api, LogRelay& relay, ServerProbe& probe)
      : NodeGrpcService(api), relay_(relay), probe_(probe) {}

  Unary* SubmitJob(Context*, const v1::SubmitJobRequest*, v1::SubmitJobResponse*) override;
  Unary* SubmitJobs(Context*, const v1::SubmitJobsRequest*, v1::SubmitJobsResponse*) override;
  Unary* GetJob(Context*, const v1::GetJobRequest*, v1::Job*) override;
  Unary* ListJobs(Context*, const v1::ListJobsRequest*, v1::ListJobsResponse*) override;
  Unary* ActOnJob(Context*, const v1::ActOnJobRequest*, v1::ActOnJobResponse*) override;
  Unary* ExplainJob(Context*, const v1::ExplainJobRequest*, v1::ExplainJobResponse*) override;
  Unary* GetVersion(Context*, const v1::GetVersionRequest*, v1::GetVersionResponse*) override;
  grpc::ServerWriteReactor<v1::Event>* WatchEvents(Context*,
                                                   const v1::WatchEventsRequest*) override;
  grpc::ServerWriteReactor<v1::LogPiece>* ReadLogs(Context*, const v1::ReadLogsRequest*) override;

 private:
  LogRelay& relay_;
  ServerProbe& probe_;
};

}  // namespace keiko::server
