// For tests: a server in memory, and a terminal in memory.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/fake_nodes.h"
#include "cli/main_cli.h"
#include "wire/convert.h"

namespace keiko::cli {

/// Answers from what the test put into it; records what was asked.
class FakeClient : public FakeNodes {
 public:
  std::vector<v1::Job> jobs;
  std::vector<v1::Event> events;
  std::vector<v1::LogPiece> pieces;
  v1::ExplainJobResponse verdict;
  std::vector<v1::SubmitJobRequest> submitted;
  std::vector<v1::ActOnJobRequest> actions;
  std::function<void()> on_get;            ///< called at each get_job: lets time pass
  int log_breaks = 0;                      ///< so many reads of logs break after half their pieces

  Result<v1::SubmitJobResponse> submit_job(const v1::SubmitJobRequest& request) override {
    TRY(reachable);
    submitted.push_back(request);
    v1::SubmitJobResponse response;
    response.set_job("j" + std::to_string(jobs.size() + 1));
    response.set_text(response.job() + " waits for devices");
    v1::Job job;
    job.set_id(response.job());
    *job.mutable_spec() = request.spec();
    job.set_status("COMPLETED");
    jobs.push_back(job);
    return response;
  }
  Result<v1::SubmitJobsResponse> submit_jobs(const v1::SubmitJobsRequest&) override {
    return internal_error("not asked for by any verb");
  }
  Result<v1::Job> get_job(const v1::GetJobRequest& request) override {
    TRY(reachable);
    if (on_get) on_get();
    for (const v1::Job& job : jobs) {
      if (job.id() == request.job()) return job;
    }
    return not_found("no job " + request.job());
  }
  Result<v1::ListJobsResponse> list_jobs(const v1::ListJobsRequest& request) override {
    TRY(reachable);
    v1::ListJobsResponse response;
    // Pages of two, so that every test of a list is one of pages.
    const size_t start = request.page_token().empty() ? 0 : std::stoul(request.page_token());
    std::vector<v1::Job> sorted = jobs;
    if (request.newest_first()) std::reverse(sorted.begin(), sorted.end());
    for (size_t i = start; i < sorted.size(); ++i) {
      if (response.jobs_size() == 2) {
        response.set_next_page_token(std::to_string(i));
        break;
      }
      const v1::Job& job = sorted[i];
      bool status = request.statuses().empty();
      for (const std::string& word : request.statuses()) status = status || word == job.status();
      const bool name = request.name().empty() || request.name() == job.spec().name();
      const bool user = request.user().empty() || request.user() == job.spec().user();
      if (status && name && user) *response.add_jobs() = job;
    }
    return response;
  }
  Result<v1::ActOnJobResponse> act_on_job(const v1::ActOnJobRequest& request) override {
    TRY(reachable);
    actions.push_back(request);
    for (v1::Job& job : jobs) {
      if (job.id() != request.job()) continue;
      if (request.action() == "cancel") job.set_status("CANCELLED");
      v1::ActOnJobResponse response;
      response.set_job(job.id());
      response.set_text(job.id() + " is told to " + request.action());
      return response;
    }
    return not_found("no job " + request.job());
  }
  Result<v1::ExplainJobResponse> explain_job(const v1::ExplainJobRequest&) override {
    TRY(reachable);
    return verdict;
  }
  Result<v1::GetVersionResponse> get_version() override {
    TRY(reachable);
    v1::GetVersionResponse response;
    response.set_version("1.2.3");
    response.set_term(4);
    return response;
  }
  Done watch_events(const v1::WatchEventsRequest& request, const OnEvent& on_event,
                    std::stop_token) override {
    TRY(reachable);
    for (const v1::Event& event : events) {
      const bool wanted = request.job().empty() || request.job() == event.job();
      if (event.cursor() > request.after() && wanted && !on_event(event)) break;
    }
    return done();
  }
  Done read_logs(const v1::ReadLogsRequest& request, const OnPiece& on_piece,
                 std::stop_token) override {
    TRY(reachable);
    std::vector<v1::LogPiece> wanted;
    for (const v1::LogPiece& piece : pieces) {
      const bool stream = request.stream().empty() || request.stream() == piece.stream();
      const auto& ranks = request.ranks();
      const bool rank = ranks.empty() ? request.rank() == -1 || request.rank() == piece.rank()
                                      : std::count(ranks.begin(), ranks.end(), piece.rank()) != 0;
      const bool attempt = request.attempt() == 0 || request.attempt() == piece.attempt();
      if (stream && rank && attempt) wanted.push_back(piece);
    }
    size_t count = wanted.size();
    const bool breaks = log_breaks > 0 && request.follow();
    if (breaks) count /= 2;
    for (size_t i = 0; i < count; ++i) {
      if (!on_piece(wanted[i])) break;
    }
    if (!breaks) return done();
    --log_breaks;
    return unavailable("the agent of node1 is not connected");
  }
};

/// A terminal in memory at 2026-12-02 08:00:00 UTC, 80 by 24, no colour, not a terminal.
struct FakeTerminal {
  std::string out;
  std::string err;
  int waits_until_interrupt = 1000;  ///< the wait after which Ctrl-C is pressed, then at each
  int interrupts = 0;
  Console console;

  FakeTerminal() {
    console.out = [this](std::string_view text) { out += text; };
    console.err = [this](std::string_view text) { err += text; };
    console.now = [] { return Time{1'796'198'400'000'000'000}; };
    console.wait = [this](Duration) {
      return --waits_until_interrupt < 0 ? ++interrupts : interrupts;
    };
    console.interrupts = [this] { return interrupts; };
  }
};

inline google::protobuf::Timestamp stamp(Duration before_now) {
  google::protobuf::Timestamp out;
  set_proto(out, Time{1'796'198'400'000'000'000} - before_now);
  return out;
}

/// One command line against one FakeClient.
struct FakeWorld {
  FakeClient server;
  FakeTerminal terminal;
  std::map<std::string, std::string> variables = {{"HOME", "/nonexistent"}};
  std::string dialled;

  int run(const std::vector<std::string>& words, std::vector<Verb> extra = {}) {
    terminal.out.clear();
    terminal.err.clear();
    Surroundings around{terminal.console,
                        [this](const std::string& name) { return variables[name]; },
                        [this](const std::string& address) {
                          dialled = address;
                          return std::shared_ptr<Client>(std::shared_ptr<void>(), &server);
                        },
                        "/here", "ada", "0.1.0"};
    return run_cli(words, around, std::move(extra));
  }
  const std::string& out() const { return terminal.out; }
  const std::string& err() const { return terminal.err; }
};

}  // namespace keiko::cli
