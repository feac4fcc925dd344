#include "cli/connection.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/id.h"
#include "base/text.h"
#include "model/job.h"
#include "model/node.h"

namespace keiko::cli {
namespace {

/// "host:port", "[::1]:7070"; the port may not be missing, since a wrong guess dials a stranger.
Result<std::string> checked_address(const std::string& text, const std::string& source) {
  const size_t colon = text.find_last_of(':');
  uint64_t port = 0;
  const bool whole = colon != std::string::npos && colon > 0 &&
                     parse_digits(text.substr(colon + 1), port) && port > 0 && port < 65536 &&
                     text.find_first_of(" /\t") == std::string::npos;
  if (whole) return text;
  return invalid_argument(source + " is " + quote_text(text) +
                          ", which is no address; write HOST:PORT, as in localhost:7070");
}

/// RETURNS: "" if the file is not there.
Result<std::string> address_from_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::string();
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("grpc") || !json["grpc"].is_string()) {
    return failed_precondition(path +
                               " does not name a server; remove it, or say --server HOST:PORT");
  }
  return checked_address(json["grpc"].get<std::string>(), "grpc in " + path);
}

/// All jobs of that name, newest first; more than a handful need not be told apart.
Result<std::vector<v1::Job>> jobs_named(Client& client, const std::string& name, bool ended) {
  v1::ListJobsRequest request;
  request.set_name(name);
  request.set_newest_first(true);
  request.set_page_size(100);
  for (int i = 0; i <= static_cast<int>(JobStatus::kCancelled); ++i) {
    const JobStatus status = static_cast<JobStatus>(i);
    if (is_final(status) == ended) request.add_statuses(to_text(status));
  }
  std::vector<v1::Job> jobs;
  do {
    v1::ListJobsResponse page = TRY(client.list_jobs(request));
    for (v1::Job& job : *page.mutable_jobs()) jobs.push_back(std::move(job));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && jobs.size() < 5);
  return jobs;
}

Error several(const std::string& name, const std::vector<v1::Job>& jobs) {
  std::string ids;
  for (size_t i = 0; i < jobs.size() && i < 5; ++i) ids += (i == 0 ? "" : ", ") + jobs[i].id();
  if (jobs.size() > 5) ids += ", ...";
  return invalid_argument("several jobs are named " + quote_text(name) + ": " + ids +
                          "; say which id");
}

}  // namespace

std::string state_directory(const std::string& asked, const Variable& variable) {
  std::string directory = asked;
  if (directory.empty()) directory = variable("KEIKO_STATE");
  if (directory.empty() && !variable("XDG_DATA_HOME").empty()) {
    directory = variable("XDG_DATA_HOME") + "/keiko";
  }
  if (directory.empty()) directory = variable("HOME") + "/.local/share/keiko";
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  return directory;
}

Result<std::string> server_address(const ServerChoice& choice, const Variable& variable) {
  if (!choice.server.empty()) return checked_address(choice.server, "--server");
  // --state on the command line is nearer than a variable of the session.
  if (choice.state.empty() && !variable("KEIKO_SERVER").empty()) {
    return checked_address(variable("KEIKO_SERVER"), "KEIKO_SERVER");
  }
  const std::string file = state_directory(choice.state, variable) + "/server.json";
  const std::string address = TRY(address_from_file(file));
  if (!address.empty()) return address;
  // Whoever names a pool does not mean a stranger's on the usual port.
  if (!choice.state.empty() || !variable("KEIKO_STATE").empty()) {
    return unavailable(file + " is not there: no server runs on this state directory; start one "
                              "with `keiko up`, or say --server HOST:PORT");
  }
  return std::string(kDefaultServer);
}

Connection::Connection(const ServerChoice& choice, Variable variable, Dial dial)
    : choice_(choice), variable_(std::move(variable)), dial_(std::move(dial)) {}

Result<Client*> Connection::client() {
  if (client_ == nullptr) client_ = dial_(TRY(server_address(choice_, variable_)));
  return client_.get();
}

Result<std::string> Connection::job_id(const std::string& text) {
  if (const Result<JobId> id = parse_job_id(text); id.ok()) return to_text(*id);
  if (!is_label(text)) {
    return invalid_argument(quote_text(text) + " is neither an id (j12) nor the name of a job");
  }
  Client* const server = TRY(client());
  for (const bool ended : {false, true}) {
    const std::vector<v1::Job> jobs = TRY(jobs_named(*server, text, ended));
    if (jobs.size() > 1) return several(text, jobs);
    if (jobs.size() == 1) return jobs[0].id();
  }
  return not_found("no job is named " + quote_text(text) + "; `keiko jobs` lists them");
}

}  // namespace keiko::cli
