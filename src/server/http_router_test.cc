// Routes: what matches, what does not, and that docs/openapi.yaml and the table say the same.
#include "server/http_router.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "server/http_requests.h"
#include "server/openapi.h"

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
  EXPECT_EQ(MUST(read_logs_request(logs, "1.77")).offset(), 77);
  EXPECT_FALSE(read_logs_request(logs, "x").ok());
  const RouteMatch events = match_route("GET", "/v1/events");
  EXPECT_EQ(MUST(watch_events_request(events, "12")).after(), 12u);
  EXPECT_TRUE(MUST(watch_events_request(events, "")).follow());
  EXPECT_FALSE(watch_events_request(events, "-1").ok());
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
