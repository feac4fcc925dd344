// Between Error and grpc::Status.
#include "wire/grpc_status.h"

#include "keiko/v1/cluster.pb.h"

namespace keiko {

grpc::Status to_status(const Error& error) {
  v1::Error details;
  details.set_code(std::string(code_name(error.code)));
  details.set_message(error.message);
  details.set_where(error.where);
  const Code code = error.code == Code::kOk ? Code::kInternal : error.code;
  return {static_cast<grpc::StatusCode>(code), error.message, details.SerializeAsString()};
}

bool is_ours(const grpc::Status& status) {
  v1::Error details;
  return !status.error_details().empty() && details.ParseFromString(status.error_details()) &&
         !details.code().empty();
}

Error from_status(const grpc::Status& status, const std::string& address) {
  Error error{static_cast<Code>(status.error_code()), status.error_message(), {}};
  if (is_ours(status)) {
    v1::Error details;
    details.ParseFromString(status.error_details());
    error.where = details.where();
    return error;
  }
  if (error.code == Code::kCancelled) {
    // Who cancels a call of his own does not ask how it ended: this was the server, which stops.
    error.code = Code::kUnavailable;
    error.message = "the server at " + address + " ended the call; it is being stopped";
    error.where = address;
  } else if (error.code == Code::kUnavailable) {
    error.message = "cannot reach a Keiko server at " + address +
                    "; start one with `keiko up`, or name another with --server HOST:PORT";
    error.where = address;
  } else if (error.code == Code::kDeadlineExceeded) {
    error.message = "the server at " + address + " did not answer in time; it may be overloaded";
    error.where = address;
  } else if (error.code == Code::kResourceExhausted) {
    error.message = "the message is larger than the server at " + address +
                    " takes; send less at once (" + error.message + ")";
  }
  return error;
}

}  // namespace keiko
