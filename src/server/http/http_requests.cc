// Parameters are taken one by one; what is left over is unknown.
#include "server/http/http_requests.h"

#include <charconv>
#include <optional>
#include <set>

#include "base/id.h"
#include "base/text.h"
#include "base/utf8.h"
#include "wire/convert.h"
#include "wire/json.h"
#include "wire/logs/log_words.h"

namespace keiko::server {
namespace {

class Parameters {
 public:
  explicit Parameters(const RouteMatch& match) : left_(match.query) {}

  /// The first error met so far, or the first parameter that nobody took.
  Done finish() {
    if (!error_.ok()) return error_;
    if (left_.empty()) return done();
    const std::string& name = left_.begin()->first;
    const std::string near = nearest_word(name, known_);
    return invalid_argument(
        "unknown parameter " + quote_text(clean_utf8(name)) +
            (near.empty() ? "; this path takes " + names() : "; did you mean " + near + "?"),
        clean_utf8(name));
  }

  std::vector<std::string> texts(const std::string& name) {
    known_.push_back(name);
    std::vector<std::string> values;
    const auto [from, to] = left_.equal_range(name);
    for (auto field = from; field != to; ++field) {
      for (std::string& piece : split(field->second, ',')) values.push_back(std::move(piece));
    }
    left_.erase(from, to);
    for (const std::string& value : values) check_text(name, value);
    return values;
  }

  std::string text(const std::string& name) {
    known_.push_back(name);
    const auto found = left_.find(name);
    if (found == left_.end()) return {};
    std::string value = found->second;
    left_.erase(found);
    check_text(name, value);
    return value;
  }

  template <class T>
  T number(const std::string& name, T fallback) {
    const std::string value = text(name);
    if (value.empty()) return fallback;
    T parsed{};
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (problem == std::errc() && end == value.data() + value.size()) return parsed;
    fail(name, quote_text(clean_utf8(value)) + " is not a whole number that fits");
    return fallback;
  }

  /// "0,2,4-7". RETURNS: none if it was not given.
  std::set<int32_t> ranks(const std::string& name) {
    const std::vector<std::string> pieces = texts(name);
    if (pieces.empty()) return {};
    Result<std::set<int32_t>> read = read_ranks(join(pieces, ","), kMaxWorkers);
    if (read.ok()) return std::move(read).value();
    fail(name, clean_utf8(read.error().message));
    return {};
  }

  /// A span before `now`, "10m", or a time in UTC. RETURNS: nothing if it was not given.
  std::optional<Time> point_of_time(const std::string& name, Time now) {
    const std::string value = text(name);
    if (value.empty()) return std::nullopt;
    const Result<Duration> span = parse_duration(value);
    const Result<Time> point = span.ok() ? Result<Time>(now - *span)
                                         : read_point_of_time(value, now);
    if (point.ok()) return *point;
    fail(name, clean_utf8(point.error().message));
    return std::nullopt;
  }

  /// "90s", "1h30m". RETURNS: 0 if it was not given.
  Duration duration(const std::string& name) {
    const std::string value = text(name);
    if (value.empty()) return {};
    const Result<Duration> parsed = parse_duration(value);
    if (parsed.ok()) return *parsed;
    fail(name, clean_utf8(parsed.error().message));
    return {};
  }

  bool flag(const std::string& name) {
    const bool given = left_.count(name) != 0;
    const std::string value = text(name);
    if (value == "true" || value == "1" || (given && value.empty())) return true;
    if (value != "false" && value != "0" && !value.empty()) fail(name, "must be true or false");
    return false;
  }

 private:
  void check_text(const std::string& name, const std::string& value) {
    // Protobuf's strings are UTF-8.
    if (valid_utf8_prefix(value) != value.size()) fail(name, "is not valid UTF-8");
  }

  void fail(const std::string& name, const std::string& what) {
    if (error_.ok()) error_ = invalid_argument(name + ": " + what, name);
  }

  std::string names() const { return known_.empty() ? "none" : join(known_, ", "); }

  std::multimap<std::string, std::string> left_;
  std::vector<std::string> known_;
  Done error_ = done();
};

Result<std::string> path_value(const RouteMatch& match, const std::string& name) {
  const auto found = match.path.find(name);
  const std::string value = found == match.path.end() ? "" : found->second;
  if (valid_utf8_prefix(value) == value.size()) return value;
  return invalid_argument("the " + name + " in the path is not valid UTF-8", name);
}

/// An empty body is an empty message.
Done read_body(const std::string& body, google::protobuf::Message& message) {
  return body.empty() ? done() : from_json(body, message);
}

}  // namespace

Result<v1::ListJobsRequest> list_jobs_request(const RouteMatch& match) {
  Parameters parameters(match);
  v1::ListJobsRequest request;
  request.set_page_size(parameters.number("page_size", int32_t{0}));
  request.set_page_token(parameters.text("page_token"));
  for (const std::string& status : parameters.texts("status")) request.add_statuses(status);
  request.set_user(parameters.text("user"));
  request.set_name(parameters.text("name"));
  request.set_queue(parameters.text("queue"));
  request.set_newest_first(parameters.flag("newest_first"));
  TRY(parameters.finish());
  return request;
}

Result<v1::SubmitJobRequest> submit_job_request(const RouteMatch& match, const std::string& body) {
  TRY(no_parameters(match));
  v1::SubmitJobRequest request;
  TRY(from_json(body, request));
  return request;
}

Result<v1::ActOnJobRequest> act_on_job_request(const RouteMatch& match, const std::string& body) {
  TRY(no_parameters(match));
  v1::ActOnJobRequest request;
  TRY(read_body(body, request));
  request.set_job(TRY(path_value(match, "job")));
  request.set_action(TRY(path_value(match, "action")));
  return request;
}

Result<v1::ActOnNodeRequest> act_on_node_request(const RouteMatch& match, const std::string& body) {
  TRY(no_parameters(match));
  v1::ActOnNodeRequest request;
  TRY(read_body(body, request));
  request.set_node(TRY(path_value(match, "node")));
  request.set_action(TRY(path_value(match, "action")));
  return request;
}

Result<v1::ListNodesRequest> list_nodes_request(const RouteMatch& match) {
  Parameters parameters(match);
  v1::ListNodesRequest request;
  request.set_page_size(parameters.number("page_size", int32_t{0}));
  request.set_page_token(parameters.text("page_token"));
  for (const std::string& status : parameters.texts("status")) request.add_statuses(status);
  request.set_with_topology(parameters.flag("topology"));
  TRY(parameters.finish());
  return request;
}

Result<v1::GetHistoryRequest> get_history_request(const RouteMatch& match) {
  Parameters parameters(match);
  v1::GetHistoryRequest request;
  request.set_node(TRY(path_value(match, "node")));
  request.set_device(parameters.text("device"));
  for (const std::string& metric : parameters.texts("metric")) request.add_metrics(metric);
  set_proto(*request.mutable_since(), parameters.duration("since"));
  set_proto(*request.mutable_until(), parameters.duration("until"));
  set_proto(*request.mutable_step(), parameters.duration("step"));
  TRY(parameters.finish());
  return request;
}

Result<v1::ReadLogsRequest> read_logs_request(const RouteMatch& match,
                                              const std::string& last_event_id, WallTime now) {
  Parameters parameters(match);
  v1::ReadLogsRequest request;
  const bool has_rank = match.query.count("rank") != 0;
  const std::set<int32_t> ranks = parameters.ranks("ranks");
  for (const int32_t rank : ranks) request.add_ranks(rank);
  if (const auto since = parameters.point_of_time("since", Time{now.ns})) {
    set_proto(*request.mutable_since(), *since);
  }
  request.set_times(parameters.flag("times"));
  request.set_job(TRY(path_value(match, "job")));
  request.set_attempt(parameters.number("attempt", int32_t{0}));
  request.set_rank(parameters.number("rank", int32_t{0}));
  request.set_stream(parameters.text("stream"));
  request.set_offset(parameters.number("offset", int64_t{0}));
  request.set_follow(parameters.flag("follow"));
  TRY(parameters.finish());
  if (has_rank && !ranks.empty()) {
    return invalid_argument("ranks: give rank or ranks, not both", "ranks");
  }
  if (request.has_since() && request.offset() != 0) {
    return invalid_argument("since: give since or offset, not both", "since");
  }
  if (request.stream().empty()) request.set_stream("out");
  if (last_event_id.empty()) return request;
  // Set by a browser that reconnects: "<attempt>.<offset behind the last piece>".
  const std::vector<std::string> parts = split(last_event_id, '.');
  uint64_t attempt = 0;
  uint64_t offset = 0;
  const bool read = parts.size() == 2 && parse_digits(parts[0], attempt) &&
                    parse_digits(parts[1], offset) && attempt <= INT32_MAX && offset <= INT64_MAX;
  if (!read) return invalid_argument("Last-Event-ID: is not one of this stream", "Last-Event-ID");
  request.set_offset(static_cast<int64_t>(offset));
  request.clear_since();
  return request;
}

Result<v1::WatchEventsRequest> watch_events_request(const RouteMatch& match,
                                                    const std::string& last_event_id) {
  Parameters parameters(match);
  v1::WatchEventsRequest request;
  request.set_after(parameters.number("after", uint64_t{0}));
  request.set_job(parameters.text("job"));
  request.set_follow(match.query.count("follow") == 0 || parameters.flag("follow"));
  TRY(parameters.finish());
  if (last_event_id.empty()) return request;
  uint64_t after = 0;
  if (!parse_digits(last_event_id, after)) {
    return invalid_argument("Last-Event-ID: is not one of this stream", "Last-Event-ID");
  }
  request.set_after(after);
  return request;
}

Done no_parameters(const RouteMatch& match) { return Parameters(match).finish(); }

int http_status(Code code) {
  switch (code) {
    case Code::kOk: return 200;
    case Code::kInvalidArgument:
    case Code::kOutOfRange: return 400;
    case Code::kUnauthenticated: return 401;
    case Code::kPermissionDenied: return 403;
    case Code::kNotFound: return 404;
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kAborted: return 409;
    case Code::kResourceExhausted: return 429;
    case Code::kCancelled: return 499;
    case Code::kUnimplemented: return 501;
    case Code::kUnavailable: return 503;
    case Code::kDeadlineExceeded: return 504;
    case Code::kUnknown:
    case Code::kInternal:
    case Code::kDataLoss: return 500;
  }
  return 500;
}

std::string error_json(const Error& error) {
  v1::Error message;
  message.set_code(std::string(code_name(error.code)));
  message.set_message(clean_utf8(error.message));
  message.set_where(clean_utf8(error.where));
  return "{\"error\":" + to_json(message) + "}";
}

}  // namespace keiko::server
