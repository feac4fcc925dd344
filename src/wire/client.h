// Client: one method per rpc of ClusterService, in the contract's own messages.
//
// Every call has a deadline; streams have none but end when the caller says so. A server that
// cannot be reached gives kUnavailable with a sentence that names the address and says what to do.
// Safe from any thread. An interface, so that a verb can be tested against a fake.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "keiko/v1/cluster.pb.h"

namespace keiko {

/// What is asked about nodes.
class NodeClient {
 public:
  virtual ~NodeClient() = default;

  virtual Result<v1::ListNodesResponse> list_nodes(const v1::ListNodesRequest& request) = 0;
  virtual Result<v1::Node> get_node(const v1::GetNodeRequest& request) = 0;
  virtual Result<v1::ActOnNodeResponse> act_on_node(const v1::ActOnNodeRequest& request) = 0;
  virtual Result<v1::GetHistoryResponse> get_history(const v1::GetHistoryRequest& request) = 0;
};

class Client : public NodeClient {
 public:
  virtual Result<v1::SubmitJobResponse> submit_job(const v1::SubmitJobRequest& request) = 0;
  virtual Result<v1::SubmitJobsResponse> submit_jobs(const v1::SubmitJobsRequest& request) = 0;
  virtual Result<v1::Job> get_job(const v1::GetJobRequest& request) = 0;
  virtual Result<v1::ListJobsResponse> list_jobs(const v1::ListJobsRequest& request) = 0;
  virtual Result<v1::ActOnJobResponse> act_on_job(const v1::ActOnJobRequest& request) = 0;
  virtual Result<v1::ExplainJobResponse> explain_job(const v1::ExplainJobRequest& request) = 0;
  virtual Result<v1::GetVersionResponse> get_version() = 0;

  /// Calls `on_event` for each event until the stream ends, `on_event` returns false or `stop` is
  /// requested (both give done()). A cursor that is too old is kOutOfRange.
  using OnEvent = std::function<bool(const v1::Event&)>;
  virtual Done watch_events(const v1::WatchEventsRequest& request, const OnEvent& on_event,
                            std::stop_token stop) = 0;

  /// The same for a job's output. After kUnavailable the caller may go on at the offset behind the
  /// last piece it got.
  using OnPiece = std::function<bool(const v1::LogPiece&)>;
  virtual Done read_logs(const v1::ReadLogsRequest& request, const OnPiece& on_piece,
                         std::stop_token stop) = 0;
};

struct ClientOptions {
  std::string address;               ///< "host:port" of the server's gRPC port
  Duration deadline = seconds(10);   ///< of each call that is not a stream
  Duration connect_timeout = seconds(3);  ///< until a stream's server must have answered
};

/// RETURNS: a client; nothing is dialled before the first call.
std::unique_ptr<Client> make_client(const ClientOptions& options);

}  // namespace keiko
