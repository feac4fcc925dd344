// keiko jobs: what runs, what waits, what ended last.
#include <memory>

#include "cli/exit_code.h"
#include "cli/show/job_view.h"
#include "cli/show/output.h"
#include "cli/verbs.h"
#include "model/job.h"

namespace keiko::cli {
namespace {

struct Given {
  OutputChoice output;
  std::vector<std::string> statuses;
  std::string user, name, queue;
  bool mine = false;
  bool all = false;
  int64_t ended = 20;
};

std::vector<std::string> all_statuses() {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(JobStatus::kCancelled); ++i) {
    words.push_back(to_text(static_cast<JobStatus>(i)));
  }
  return words;
}

/// Adds up to `limit` jobs of `request` to `out`, newest first. RETURNS: whether there are more.
Result<bool> collect(Client& client, v1::ListJobsRequest request, int64_t limit,
                     v1::ListJobsResponse& out) {
  int64_t count = 0;
  do {
    request.set_page_size(static_cast<int32_t>(std::min<int64_t>(1000, limit - count + 1)));
    v1::ListJobsResponse page = TRY(client.list_jobs(request));
    for (v1::Job& job : *page.mutable_jobs()) {
      if (count == limit) return true;
      *out.add_jobs() = std::move(job);
      ++count;
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return false;
}

Result<Listing> ask(const Given& given, const Invocation& call, Client& client) {
  v1::ListJobsRequest request;
  request.set_user(given.mine ? call.user : given.user);
  request.set_name(given.name);
  request.set_queue(given.queue);
  request.set_newest_first(true);
  auto response = std::make_shared<v1::ListJobsResponse>();
  bool more = false;
  if (!given.statuses.empty() || given.all) {
    for (const std::string& status : given.statuses) request.add_statuses(status);
    TRY(collect(client, request, INT64_MAX - 1, *response));
  } else {
    v1::ListJobsRequest open = request;
    for (const std::string& status : all_statuses()) {
      const bool ends = status == "COMPLETED" || status == "FAILED" || status == "CANCELLED";
      (ends ? request : open).add_statuses(status);
    }
    TRY(collect(client, open, INT64_MAX - 1, *response));
    if (given.ended > 0) more = TRY(collect(client, request, given.ended, *response));
  }
  Listing listing;
  listing.table = jobs_table(response->jobs(), call.console.now());
  listing.message = response.get();
  listing.owner = response;
  const bool filtered = !given.statuses.empty() || !request.user().empty() ||
                        !given.name.empty() || !given.queue.empty();
  if (response->jobs().empty()) {
    listing.note = filtered ? "no job matches" : "no jobs; submit one: keiko run -- COMMAND";
  } else if (more) listing.note = "older jobs have ended too: keiko jobs --all";
  return listing;
}

}  // namespace

Verb verb_jobs() {
  Verb verb;
  verb.name = "jobs";
  verb.group = "Jobs";
  verb.summary = "List jobs: what runs, what waits, what ended last";
  verb.about =
      "Shows every job that has not ended and the newest of those that have. WORKERS counts "
      "those that run, then all; the last column says where a job runs or why it does not.";
  verb.examples = {"keiko jobs -w", "keiko jobs --mine --status PENDING",
                   "keiko jobs -o json | jq '.jobs[].id'"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    Option& status =
        options.texts("--status", "STATUS", given->statuses, "only this status; may be repeated");
    status.choices = all_statuses();
    status.completes = Completes::kChoices;
    options.text("--user", "NAME", given->user, "only jobs of this user");
    options.flag("--mine", given->mine, "only your own jobs");
    options.text("--name", "NAME", given->name, "only jobs of this name");
    options.text("--queue", "NAME", given->queue, "only jobs of this queue");
    options.flag("-a,--all", given->all, "every job that the server knows");
    options.integer("--ended", "N", given->ended, "how many ended jobs to show; 20 if left out")
        .between(0, INT64_MAX);
    add_output_options(options, given->output);
    return [given](Invocation& call) -> Result<int> {
      Client* const client = TRY(call.connection.client());
      return show_listing(given->output, call.console, [&] { return ask(*given, call, *client); });
    };
  };
  return verb;
}

}  // namespace keiko::cli
