// keiko logs: what the workers of a job print.
#include <algorithm>
#include <memory>

#include "base/text.h"
#include "cli/exit_code.h"
#include "cli/logs/log_follow.h"
#include "cli/logs/log_options.h"
#include "cli/verbs.h"

namespace keiko::cli {
namespace {

struct Given {
  std::string job;
  bool follow = false;
  std::vector<std::string> ranks;  ///< none: all
  int64_t attempt = 0;
  int64_t tail = -1;  ///< all
  bool out_only = false;
  bool err_only = false;
  bool times = false;
  std::string since;
  std::string pattern;
};

/// Bytes that hold the last `tail` lines of most programs; asked for again if they do not.
constexpr int64_t kBytesOfLine = 200;
constexpr int64_t kLargestTail = int64_t{64} << 20;

/// The last lines of each lane, and where each lane ended.
struct Tail {
  std::map<Lane, std::string> text;
  std::map<Lane, int64_t> end;
  bool whole = true;  ///< all lanes hold enough lines or begin at their beginning
};

/// RETURNS: where the last `count` lines of `text` begin.
size_t last_lines(const std::string& text, int64_t count) {
  size_t at = text.size();
  if (at > 0 && text[at - 1] == '\n') --at;
  for (int64_t i = 0; i < count; ++i) {
    const size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    if (newline == std::string::npos) return 0;
    at = newline;
  }
  return count == 0 ? text.size() : at + 1;
}

Result<Tail> read_tail(Client& client, v1::ReadLogsRequest request, int64_t lines, int64_t bytes) {
  Tail tail;
  std::map<Lane, int64_t> begin;
  request.set_follow(false);
  request.set_offset(-bytes);
  TRY(client.read_logs(
      request,
      [&](const v1::LogPiece& piece) {
        const Lane lane{piece.attempt(), piece.rank(), piece.stream()};
        begin.emplace(lane, piece.offset());
        tail.text[lane] += piece.data();
        tail.end[lane] = piece.offset() + static_cast<int64_t>(piece.data().size());
        return true;
      },
      {}));
  for (const auto& [lane, text] : tail.text) {
    const size_t start = last_lines(text, lines);
    if (start == 0 && begin[lane] > 0 && lines > 0) tail.whole = false;
  }
  return tail;
}

/// Hands the last lines to the printer, which goes on from their end.
Done print_tail(Client& client, const v1::ReadLogsRequest& request, int64_t lines,
                LogPrinter& printer) {
  int64_t bytes =
      std::max<int64_t>(std::min(lines, kLargestTail / kBytesOfLine) * kBytesOfLine, 4096);
  Tail tail = TRY(read_tail(client, request, lines, bytes));
  while (!tail.whole && bytes < kLargestTail) {
    bytes *= 8;
    tail = TRY(read_tail(client, request, lines, bytes));
  }
  for (const auto& [lane, text] : tail.text) {
    const size_t start = last_lines(text, lines);
    v1::LogPiece piece;
    piece.set_attempt(lane.attempt);
    piece.set_rank(lane.rank);
    piece.set_stream(lane.stream);
    piece.set_offset(tail.end[lane] - static_cast<int64_t>(text.size() - start));
    piece.set_data(text.substr(start));
    printer.add(piece);
  }
  return done();
}

int64_t nearest_offset(const LogPrinter& printer) {
  int64_t offset = INT64_MAX;
  for (const auto& [lane, next] : printer.next_offsets()) offset = std::min(offset, next);
  return offset == INT64_MAX ? 0 : offset;
}

Result<v1::ReadLogsRequest> request_of(const Given& given, const v1::Job& job, Time now) {
  v1::ReadLogsRequest request;
  request.set_job(job.id());
  request.set_rank(-1);
  const int workers = job.spec().has_workers() ? job.spec().workers() : 1;
  const std::vector<int32_t> ranks = TRY(parse_ranks(given.ranks, workers, job.id()));
  if (ranks.size() == 1) request.set_rank(ranks[0]);
  else request.mutable_ranks()->Assign(ranks.begin(), ranks.end());
  request.set_attempt(static_cast<int32_t>(given.attempt));
  request.set_follow(given.follow);
  request.set_times(given.times);
  if (given.out_only != given.err_only) request.set_stream(given.out_only ? "out" : "err");
  if (given.since.empty()) return request;
  if (given.tail >= 0) return invalid_argument("--since and --tail exclude each other");
  const Time since = TRY(parse_since(given.since, now));
  request.mutable_since()->set_seconds(since.ns / 1'000'000'000);
  request.mutable_since()->set_nanos(static_cast<int32_t>(since.ns % 1'000'000'000));
  return request;
}

Result<LogLook> look_of(const Given& given, const v1::ReadLogsRequest& request,
                        const v1::Job& job) {
  LogLook look;
  look.prefix = job.spec().workers() > 1 && request.rank() < 0;
  look.times = given.times;
  look.in_order = given.times && !given.follow;
  if (!given.pattern.empty()) look.wanted = TRY(parse_pattern(given.pattern));
  return look;
}

/// All there is to read, into the printer.
Done read_all(Client& client, const v1::ReadLogsRequest& request, Invocation& call,
              LogPrinter& printer) {
  if (request.follow()) {
    FollowOptions options;
    options.on_break = [&call](const Error& error) {
      call.console.hint("keiko logs: " + printable(error.message) + "; trying again");
    };
    options.wait_to_retry = [&call] { return call.console.wait(milliseconds(500)) == 0; };
    return follow_logs(client, request, printer, options);
  }
  const auto print = [&printer](const v1::LogPiece& piece) {
    printer.add(piece);
    return true;
  };
  return client.read_logs(request, print, {});
}

/// Whose words to look for, if the job failed.
void tell_failure(const Result<v1::Job>& job, const Console& console) {
  if (!job.ok() || job->status() != "FAILED" || job->message().empty()) return;
  console.hint("keiko logs: " + job->id() + " FAILED: " + printable(job->message()));
}

Result<int> logs(const Given& given, Invocation& call) {
  v1::GetJobRequest get;
  get.set_job(TRY(call.connection.job_id(given.job)));
  Client* const client = TRY(call.connection.client());
  const v1::Job job = TRY(client->get_job(get));
  v1::ReadLogsRequest request = TRY(request_of(given, job, call.console.now()));
  if (!given.follow && job.attempt() == 0) {
    call.console.hint("no output yet: " + job.id() + " is " + job.status() + "; see: keiko why " +
                      job.id());
    return kExitOk;
  }
  LogPrinter printer(TRY(look_of(given, request, job)), call.console, print_to(call.console));
  if (given.tail >= 0) {
    TRY(print_tail(*client, request, given.tail, printer));
    request.set_offset(nearest_offset(printer));
  }
  const bool all_told = given.tail >= 0 && !given.follow;
  const Done read = all_told ? done() : read_all(*client, request, call, printer);
  printer.flush();
  if (!read.ok()) return read.error();
  tell_failure(given.follow ? client->get_job(get) : Result<v1::Job>(job), call.console);
  return kExitOk;
}

}  // namespace

Verb verb_logs() {
  Verb verb;
  verb.name = "logs";
  verb.group = "Jobs";
  verb.summary = "What a job's workers print";
  verb.about =
      "All ranks with the rank in front of each line, or one rank as it is. With -f it goes on "
      "over restarts until the job has ended. The server keeps what workers print, so this works "
      "after a node is gone.";
  verb.examples = {"keiko logs j12 -f", "keiko logs j12 --rank 0 --tail 20",
                   "keiko logs j12 --times --since 10m --grep 'loss|error'"};
  verb.add_options = [](OptionSet& options) -> VerbRun {
    auto given = std::make_shared<Given>();
    options.positional("ID", given->job, "the job's id or name").completes = Completes::kJob;
    options.flag("-f,--follow", given->follow, "go on as more comes, until the job has ended");
    options.texts("--rank", "R", given->ranks,
                  "only these ranks (3, 0,2 or 4-7); a single one without a prefix");
    options.integer("--attempt", "N", given->attempt,
                    "of the N-th start; the current one if left out")
        .between(1, INT64_MAX);
    options.integer("--tail", "N", given->tail, "only the last N lines of each stream")
        .between(0, INT64_MAX);
    options.text("--since", "WHEN", given->since,
                 "only what came since: a span (10m) or a time in UTC (2026-12-02T07:06:53Z)");
    options.text("--grep", "REGEX", given->pattern, "only lines that match");
    options.flag(
        "--times", given->times,
        "the time before each line at which it reached the server; all ranks in its order");
    options.flag("--stdout", given->out_only, "only standard output");
    options.flag("--stderr", given->err_only, "only standard error");
    return [given](Invocation& call) { return logs(*given, call); };
  };
  return verb;
}

}  // namespace keiko::cli
