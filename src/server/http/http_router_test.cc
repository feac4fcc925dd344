// Routes: what matches, what does not, and that docs/openapi.yaml and the table say the same.
#include "server/http/http_router.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "server/http/http_requests.h"
#include "server/http/openapi.h"

namespace keiko::server {
namespace {

TEST(HttpRouter, finds_each_route_and_its_values) {
  EXPECT_EQ(match_route("GET", "/v1/jobs").id, RouteId::kListJobs);
  EXPECT_EQ(match_route("POST", "/v1/jobs").id, RouteId::kSubmitJob);
  const RouteMatch job = match_route("GET", "/v1/jobs/j7");
  EXPECT_EQ(job.id, RouteId::kGetJob);
  EXPECT_EQ(job.path.at("job"), "j7");
  const RouteMatch cancel = match_route("POST", "/v1/jobs/j7:cancel");
  EXPECT_EQ(cancel.id, RouteId::kActOnJob);
  EXPECT_EQ(cancel.path.at("job"), "j7");
  EXPECT_EQ(cancel.path.at("action"), "cancel");
  EXPECT_EQ(match_route("GET", "/v1/jobs/j7/logs?rank=1").id, RouteId::kReadLogs);
  EXPECT_EQ(match_route("GET", "/v1/nodes/a%2Db").path.at("node"), "a-b");
}

TEST(HttpRouter, reads_queries_with_escapes_and_repeats) {
  const RouteMatch match =
      match_route("GET", "/v1/jobs?status=PENDING&status=RUNNING&name=a+b%3D&x");
  EXPECT_EQ(match.query.count("status"), 2u);
  EXPECT_EQ(match.query.find("name")->second, "a b=");
  EXPECT_EQ(match.query.count("x"), 1u);
}

TEST(HttpRouter, says_404_405_400_and_414_each_with_a_sentence) {
  EXPECT_EQ(match_route("GET", "/v2/jobs").status, 404);
  EXPECT_EQ(match_route("GET", "/v1/jobs/").status, 404);
  EXPECT_EQ(match_route("GET", "/v1/jobs/j7/logs/x").status, 404);
  const RouteMatch wrong = match_route("DELETE", "/v1/jobs");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.allow, "GET, HEAD, POST");
  EXPECT_EQ(match_route("GET", "/v1/jobs?a=%zz").status, 400);
  EXPECT_EQ(match_route("GET", "v1/jobs").status, 400);
  EXPECT_EQ(match_route("GET", "").status, 400);
  EXPECT_EQ(match_route("GET", "/" + std::string(9000, 'a')).status, 414);
}

TEST(HttpRouter, head_is_answered_where_get_is) {
  for (const Route& route : http_routes()) {
    if (route.method != "GET" || route.pattern.find('{') != std::string_view::npos) continue;
    EXPECT_EQ(match_route("HEAD", route.pattern).id, route.id) << route.pattern;
  }
}

TEST(HttpRequests, unknown_and_wrong_parameters_name_themselves) {
  const auto unknown = list_jobs_request(match_route("GET", "/v1/jobs?statuss=PENDING"));
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("did you mean status?"), std::string::npos);
  EXPECT_EQ(list_jobs_request(match_route("GET", "/v1/jobs?page_size=ten")).error().where,
            "page_size");
  EXPECT_EQ(list_jobs_request(match_route("GET", "/v1/jobs?name=%ff")).error().where, "name");
  const auto statuses = list_jobs_request(match_route("GET", "/v1/jobs?status=PENDING,RUNNING"));
  EXPECT_EQ(MUST(statuses).statuses_size(), 2);
}

TEST(HttpRequests, last_event_ids_continue_streams) {
  const RouteMatch logs = match_route("GET", "/v1/jobs/j1/logs?follow=true");
  EXPECT_EQ(MUST(read_logs_request(logs, "1.77", {})).offset(), 77);
  EXPECT_FALSE(read_logs_request(logs, "x", {}).ok());
  const RouteMatch events = match_route("GET", "/v1/events");
  EXPECT_EQ(MUST(watch_events_request(events, "12")).after(), 12u);
  EXPECT_TRUE(MUST(watch_events_request(events, "")).follow());
  EXPECT_FALSE(watch_events_request(events, "-1").ok());
}

Result<v1::ReadLogsRequest> logs_with(const std::string& query, const std::string& last = "") {
  const WallTime now{seconds(1'796'198'400).ns};  // 2026-12-02T08:00:00Z
  return read_logs_request(match_route("GET", "/v1/jobs/j1/logs?" + query), last, now);
}

TEST(HttpRequests, logs_take_ranks_and_since_as_the_command_line_does) {
  const v1::ReadLogsRequest request = MUST(logs_with("ranks=0,2-3&ranks=7&times=true"));
  EXPECT_EQ(std::vector<int32_t>(request.ranks().begin(), request.ranks().end()),
            (std::vector<int32_t>{0, 2, 3, 7}));
  EXPECT_TRUE(request.times());
  EXPECT_FALSE(request.has_since());
  const int64_t now_s = 1'796'198'400;
  EXPECT_EQ(MUST(logs_with("since=10m")).since().seconds(), now_s - 600);
  EXPECT_EQ(MUST(logs_with("since=2026-12-02T07:59:30Z")).since().seconds(), now_s - 30);
  EXPECT_EQ(MUST(logs_with("since=07:30")).since().seconds(), now_s - 1800);
  const v1::ReadLogsRequest resumed = MUST(logs_with("since=10m", "1.77"));
  EXPECT_EQ(resumed.offset(), 77);
  EXPECT_FALSE(resumed.has_since()) << "a reconnect goes on where it was";
}

TEST(HttpRequests, logs_refuse_what_they_cannot_read_and_say_what) {
  const auto refused = [](const std::string& query) {
    const Result<v1::ReadLogsRequest> request = logs_with(query);
    if (request.ok()) return "accepted: " + query;
    EXPECT_EQ(request.error().code, Code::kInvalidArgument);
    EXPECT_EQ(http_status(request.error().code), 400);
    return request.error().message;
  };
  EXPECT_EQ(refused("ranks=two"), "ranks: \"two\": write ranks as 3, 0,2 or 4-7");
  EXPECT_EQ(refused("ranks=3-1"), "ranks: \"3-1\": write ranks as 3, 0,2 or 4-7");
  EXPECT_EQ(refused("ranks=0-4000000000"),
            "ranks: no rank 4000000000; its ranks are 0 to 65535");
  EXPECT_EQ(refused("rank=1&ranks=2"), "ranks: give rank or ranks, not both");
  EXPECT_EQ(refused("since=yesterday"),
            "since: \"yesterday\": write a span (10m, 2h) or a time in UTC "
            "(2026-12-02T07:06:53Z, 07:06)");
  EXPECT_EQ(refused("since=10m&offset=5"), "since: give since or offset, not both");
  EXPECT_EQ(refused("times=perhaps"), "times: must be true or false");
  EXPECT_NE(refused("rnks=1").find("did you mean rank"), std::string::npos);
}

/// "GET /v1/jobs" for every operation, by a scan of the file's indentation.
std::set<std::string> documented_routes() {
  std::set<std::string> routes;
  std::string path;
  bool in_paths = false;
  for (const std::string& line : split(openapi_yaml(), '\n')) {
    if (!line.empty() && line[0] != ' ') in_paths = line == "paths:";
    if (!in_paths) continue;
    if (line.compare(0, 3, "  /") == 0) path = line.substr(2, line.size() - 3);
    for (const char* method : {"get", "post", "put", "delete", "patch"}) {
      if (line != std::string("    ") + method + ":") continue;
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
      routes.insert(upper + ' ' + path);
    }
  }
  return routes;
}

TEST(OpenApi, documents_exactly_the_routes_there_are) {
  std::set<std::string> served;
  for (const Route& route : http_routes()) {
    served.insert(std::string(route.method) + ' ' + std::string(route.pattern));
  }
  EXPECT_EQ(documented_routes(), served);
}

}  // namespace
}  // namespace keiko::server
