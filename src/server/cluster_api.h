// ClusterApi: every request of the contract that has one answer, for gRPC and HTTP alike.
//
// Requests are checked on the caller's thread, carried out on the loop thread; `then` is called
// exactly once, on either, and must be quick.
#pragma once

#include <functional>

#include "keiko/v1/cluster.pb.h"
#include "server/history/history_keeper.h"
#include "server/server_loop.h"

namespace keiko::server {

template <class T>
using Then = std::function<void(Result<T>)>;

inline constexpr int kMaxBatch = 10'000;

/// What the server tells of itself.
struct ServerIdentity {
  std::string version;
  uint64_t term = 0;
  WallTime started_at;
};

class ClusterApi {
 public:
  /// `history` null: none is kept.
  ClusterApi(ServerLoop& loop, HistoryKeeper* history, ServerIdentity identity)
      : loop_(loop), history_(history), identity_(std::move(identity)) {}

  void submit_job(const v1::SubmitJobRequest& request, Then<v1::SubmitJobResponse> then);
  void submit_jobs(const v1::SubmitJobsRequest& request, Then<v1::SubmitJobsResponse> then);
  void get_job(const v1::GetJobRequest& request, Then<v1::Job> then);
  void list_jobs(const v1::ListJobsRequest& request, Then<v1::ListJobsResponse> then);
  void act_on_job(const v1::ActOnJobRequest& request, Then<v1::ActOnJobResponse> then);
  void explain_job(const v1::ExplainJobRequest& request, Then<v1::ExplainJobResponse> then);
  void list_nodes(const v1::ListNodesRequest& request, Then<v1::ListNodesResponse> then);
  void get_node(const v1::GetNodeRequest& request, Then<v1::Node> then);
  void act_on_node(const v1::ActOnNodeRequest& request, Then<v1::ActOnNodeResponse> then);
  void get_version(const v1::GetVersionRequest& request, Then<v1::GetVersionResponse> then);

  void get_history(const v1::GetHistoryRequest& request, Then<v1::GetHistoryResponse> then);

  ServerLoop& loop() { return loop_; }

 private:
  ServerLoop& loop_;
  HistoryKeeper* const history_;
  const ServerIdentity identity_;
};

}  // namespace keiko::server
