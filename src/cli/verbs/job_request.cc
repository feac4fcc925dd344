#include "cli/verbs/job_request.h"

#include "cli/job/job_fields.h"
#include "cli/job/job_file.h"
#include "posix/token.h"
#include "wire/convert.h"

namespace keiko::cli {
namespace {

/// Objections to a job that no file position belongs to.
Done hold_against_rules(const JobSpec& spec) {
  const std::vector<Error> objections = all_objections(spec);
  if (objections.empty()) return done();
  std::string text;
  for (const Error& objection : objections) {
    const JobField* field = find_job_field_by_name(objection.where);
    std::string message = objection.message;
    if (field != nullptr && message.starts_with(objection.where + ":")) {
      message = field->flag() + message.substr(objection.where.size());
    }
    text += (text.empty() ? "" : "\n") + message;
  }
  return invalid_argument(text, objections[0].where);
}

}  // namespace

Result<JobSpec> make_job(const std::string& file, const JobFlags& flags, const Invocation& call) {
  JobSpec spec;
  if (!file.empty()) spec = TRY(load_job_file(file));
  TRY(flags.apply(call.current_directory, spec));
  if (call.has_command) {
    if (!file.empty()) {
      return invalid_argument("both a job file (" + file +
                              ") and a command behind '--' are given; give one of them");
    }
    spec.command = call.command;
  }
  if (spec.command.empty()) {
    return invalid_argument("nothing to run: give a job file, or a command behind '--', as in: "
                            "keiko run --workers 2 -- python3 train.py");
  }
  if (spec.name.empty()) spec.name = name_from_command(spec.command);
  // Whoever submits rarely stands in a folder that is in the image as well.
  if (spec.workdir.empty() && spec.image.empty()) spec.workdir = call.current_directory;
  spec.user = call.user;
  TRY(hold_against_rules(spec));
  return spec;
}

Result<v1::SubmitJobResponse> submit_job(Client& client, const JobSpec& spec) {
  v1::SubmitJobRequest request;
  *request.mutable_spec() = to_proto(spec);
  request.set_token(random_token());
  Result<v1::SubmitJobResponse> response = client.submit_job(request);
  if (!response.ok() && response.error().code == Code::kDeadlineExceeded) {
    response = client.submit_job(request);
  }
  return response;
}

}  // namespace keiko::cli
