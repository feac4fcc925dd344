// sources: src/base/*.cc src/model/*.cc
// sources: src/server/http/http_router.cc src/server/http/http_requests.cc
// sources: src/wire/json.cc src/wire/convert_job.cc src/wire/convert_time.cc src/wire/utf8.cc
// sources: src/wire/base64.cc
// protos: job cluster node agent
// flags: -lprotobuf
//
// Bodies of POST /v1/jobs against any bytes, on the whole way that they take: JSON, the contract's
// message, the model, validate(). Whatever they are, the answer is a job or a refusal with a
// sentence that is itself sound JSON, never a crash. A job that is accepted comes back unchanged
// from the contract, from JSON and from the journal's bytes.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/job.h"
#include "server/http/http_requests.h"
#include "wire/convert.h"
#include "wire/json.h"

namespace keiko {
namespace {

void check_refusal(const Error& error) {
  CHECK(error.code == Code::kInvalidArgument);
  CHECK(!error.message.empty());
  CHECK(server::http_status(error.code) == 400);
  v1::Error told;
  const std::string body = server::error_json(error);
  constexpr std::string_view kHead = "{\"error\":";
  CHECK(body.substr(0, kHead.size()) == kHead && body.back() == '}');
  CHECK(from_json(std::string_view(body).substr(kHead.size(), body.size() - kHead.size() - 1), told)
            .ok());
}

Result<JobSpec> spec_of(const v1::SubmitJobRequest& request) {
  JobSpec spec = TRY(from_proto(request.spec()));
  TRY(validate(spec));
  return spec;
}

void check_round_trips(const JobSpec& spec) {
  const v1::JobSpec message = to_proto(spec);
  CHECK(MUST(from_proto(message)) == spec);
  v1::JobSpec again;
  for (const bool pretty : {false, true}) {
    CHECK(from_json(to_json(message, pretty), again).ok());
    CHECK(MUST(from_proto(again)) == spec);
  }
  CHECK(MUST(decode<JobSpec>(encode(spec))) == spec);
}

}  // namespace
}  // namespace keiko

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace keiko;  // NOLINT
  google::protobuf::LogSilencer quiet;
  const auto match = server::match_route("POST", "/v1/jobs");
  const std::string body(reinterpret_cast<const char*>(bytes), size);
  const auto request = server::submit_job_request(match, body);
  if (!request.ok()) {
    check_refusal(request.error());
    return 0;
  }
  const auto spec = spec_of(*request);
  if (spec.ok()) check_round_trips(*spec);
  else check_refusal(spec.error());
  return 0;
}
