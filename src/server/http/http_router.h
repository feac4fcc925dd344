// The HTTP routes, and which one a request line means. Pure functions over untrusted text; the fuzz
// target tests/fuzz/http_fuzz.cc holds them to that.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace keiko::server {

enum class RouteId : int {
  kListJobs, kSubmitJob, kGetJob, kActOnJob, kReadLogs, kExplainJob, kListNodes, kGetNode,
  kGetHistory, kActOnNode, kListDevices, kEvents, kVersion, kHealth, kMetrics, kOpenApi,
};

/// One row of the table. A pattern's segments are literal or "{name}"; "{name}:{action}" splits a
/// segment at its last colon.
struct Route {
  RouteId id;
  std::string_view method;   ///< "GET" also answers HEAD
  std::string_view pattern;
};
std::span<const Route> http_routes();

/// What was asked for.
struct RouteMatch {
  int status = 200;          ///< 200: `id` is meant; else 400, 404, 405 or 414 with `message`
  std::string message;
  std::string allow;         ///< of 405: the methods of this path
  RouteId id = RouteId::kHealth;
  std::map<std::string, std::string> path;   ///< decoded values of the pattern's names
  std::multimap<std::string, std::string> query;
};

/// `target` is the request line's: path and query, percent-encoded.
RouteMatch match_route(std::string_view method, std::string_view target);

/// RETURNS: false for a bad escape. '+' is a space in queries.
bool percent_decode(std::string_view text, bool in_query, std::string& out);

}  // namespace keiko::server
