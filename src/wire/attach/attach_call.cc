#include "wire/attach/attach_call.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include "keiko/v1/attach.grpc.pb.h"
#include "wire/channel.h"
#include "wire/grpc_status.h"
#include "wire/stream/stream_slot.h"

namespace keiko {
namespace {

using Stub = v1::AttachService::Stub;
using Stream = grpc::ClientReaderWriter<v1::AttachFrame, v1::AttachFrame>;
using Method = std::unique_ptr<Stream> (Stub::*)(grpc::ClientContext*);

class GrpcAttachCall : public AttachCall {
 public:
  GrpcAttachCall(const std::string& address, Method method)
      : address_(address),
        stub_(v1::AttachService::NewStub(
            make_channel(address, {seconds(3), seconds(10), seconds(10)}))),
        stream_((stub_.get()->*method)(&context_)) {}

  bool read(v1::AttachFrame& frame) override { return stream_->Read(&frame); }
  bool write(const v1::AttachFrame& frame) override { return stream_->Write(frame); }
  void writes_done() override { stream_->WritesDone(); }
  void cancel() override { context_.TryCancel(); }
  Done finish() override {
    const grpc::Status status = stream_->Finish();
    if (status.ok()) return done();
    return from_status(status, address_);
  }

 private:
  const std::string address_;
  grpc::ClientContext context_;
  const std::unique_ptr<Stub> stub_;
  const std::unique_ptr<Stream> stream_;
};

}  // namespace

std::unique_ptr<AttachCall> dial_agent_attach(const std::string& address) {
  keep_grpc();
  return std::make_unique<GrpcAttachCall>(address, &Stub::Answer);
}

std::unique_ptr<AttachCall> dial_client_attach(const std::string& address) {
  keep_grpc();
  return std::make_unique<GrpcAttachCall>(address, &Stub::Open);
}

}  // namespace keiko
