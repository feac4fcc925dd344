// The client over gRPC's blocking stubs.
#include "wire/client.h"

#include <grpcpp/client_context.h>

#include "keiko/v1/cluster.grpc.pb.h"
#include "wire/channel.h"
#include "wire/grpc_status.h"

namespace keiko {
namespace {

/// The calls themselves, and those about nodes.
class GrpcNodeClient : public Client {
 public:
  explicit GrpcNodeClient(const ClientOptions& options)
      : options_(options),
        stub_(v1::ClusterService::NewStub(
            make_channel(options.address, {options.connect_timeout, seconds(20), seconds(10)}))) {}

  Result<v1::ListNodesResponse> list_nodes(const v1::ListNodesRequest& request) override {
    return call(&Stub::ListNodes, request);
  }
  Result<v1::Node> get_node(const v1::GetNodeRequest& request) override {
    return call(&Stub::GetNode, request);
  }
  Result<v1::ActOnNodeResponse> act_on_node(const v1::ActOnNodeRequest& request) override {
    return call(&Stub::ActOnNode, request);
  }
  Result<v1::GetHistoryResponse> get_history(const v1::GetHistoryRequest& request) override {
    return call(&Stub::GetHistory, request);
  }

 protected:
  using Stub = v1::ClusterService::Stub;

  template <class Request, class Response>
  Result<Response> call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::nanoseconds(options_.deadline.ns));
    Response response;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    if (!status.ok()) return from_status(status, options_.address);
    return response;
  }

  template <class Response, class Request, class OnResponse>
  Done read_stream(
      std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(grpc::ClientContext*,
                                                                    const Request&),
      const Request& request, const OnResponse& on_response, std::stop_token stop) {
    grpc::ClientContext context;
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    const auto reader = (stub_.get()->*method)(&context, request);
    Response response;
    bool wanted = true;
    while (wanted && reader->Read(&response)) wanted = on_response(response);
    if (!wanted) context.TryCancel();
    const grpc::Status status = reader->Finish();
    if (status.ok() || !wanted || stop.stop_requested()) return done();
    return from_status(status, options_.address);
  }

 private:
  const ClientOptions options_;
  const std::unique_ptr<Stub> stub_;
};

class GrpcClient : public GrpcNodeClient {
 public:
  using GrpcNodeClient::GrpcNodeClient;

  Result<v1::SubmitJobResponse> submit_job(const v1::SubmitJobRequest& request) override {
    return call(&Stub::SubmitJob, request);
  }
  Result<v1::SubmitJobsResponse> submit_jobs(const v1::SubmitJobsRequest& request) override {
    return call(&Stub::SubmitJobs, request);
  }
  Result<v1::Job> get_job(const v1::GetJobRequest& request) override {
    return call(&Stub::GetJob, request);
  }
  Result<v1::ListJobsResponse> list_jobs(const v1::ListJobsRequest& request) override {
    return call(&Stub::ListJobs, request);
  }
  Result<v1::ActOnJobResponse> act_on_job(const v1::ActOnJobRequest& request) override {
    return call(&Stub::ActOnJob, request);
  }
  Result<v1::ExplainJobResponse> explain_job(const v1::ExplainJobRequest& request) override {
    return call(&Stub::ExplainJob, request);
  }
  Result<v1::GetVersionResponse> get_version() override {
    return call(&Stub::GetVersion, v1::GetVersionRequest());
  }

  Done watch_events(const v1::WatchEventsRequest& request, const OnEvent& on_event,
                    std::stop_token stop) override {
    return read_stream<v1::Event>(&Stub::WatchEvents, request, on_event, stop);
  }
  Done read_logs(const v1::ReadLogsRequest& request, const OnPiece& on_piece,
                 std::stop_token stop) override {
    return read_stream<v1::LogPiece>(&Stub::ReadLogs, request, on_piece, stop);
  }
};

}  // namespace

std::unique_ptr<Client> make_client(const ClientOptions& options) {
  return std::make_unique<GrpcClient>(options);
}

}  // namespace keiko
