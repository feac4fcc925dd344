// A linear walk over the table: it is short, and a walk cannot be wrong about precedence.
#include "server/http/http_router.h"

#include <array>

#include "base/text.h"

namespace keiko::server {
namespace {

constexpr std::array kRoutes{
    Route{RouteId::kListJobs, "GET", "/v1/jobs"},
    Route{RouteId::kSubmitJob, "POST", "/v1/jobs"},
    Route{RouteId::kGetJob, "GET", "/v1/jobs/{job}"},
    Route{RouteId::kActOnJob, "POST", "/v1/jobs/{job}:{action}"},
    Route{RouteId::kReadLogs, "GET", "/v1/jobs/{job}/logs"},
    Route{RouteId::kExplainJob, "GET", "/v1/jobs/{job}/why"},
    Route{RouteId::kListNodes, "GET", "/v1/nodes"},
    Route{RouteId::kGetNode, "GET", "/v1/nodes/{node}"},
    Route{RouteId::kGetHistory, "GET", "/v1/nodes/{node}/history"},
    Route{RouteId::kActOnNode, "POST", "/v1/nodes/{node}:{action}"},
    Route{RouteId::kListDevices, "GET", "/v1/devices"},
    Route{RouteId::kEvents, "GET", "/v1/events"},
    Route{RouteId::kVersion, "GET", "/v1/version"},
    Route{RouteId::kHealth, "GET", "/healthz"},
    Route{RouteId::kMetrics, "GET", "/metrics"},
    Route{RouteId::kOpenApi, "GET", "/openapi.yaml"},
};

constexpr size_t kMaxTarget = 8192;
constexpr size_t kMaxQueryFields = 64;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Splits "{job}:{action}" against "j7:cancel". RETURNS: whether `text` has the pattern's form.
bool match_segment(std::string_view pattern, std::string_view text,
                   std::map<std::string, std::string>& values) {
  if (pattern.empty() || pattern.front() != '{') return pattern == text;
  const size_t colon = pattern.find(':');
  const size_t cut = text.rfind(':');
  if (colon == std::string_view::npos) {
    return cut == std::string_view::npos && !text.empty() &&
           percent_decode(text, false, values[std::string(pattern.substr(1, pattern.size() - 2))]);
  }
  if (cut == std::string_view::npos) return false;
  return match_segment(pattern.substr(0, colon), text.substr(0, cut), values) &&
         match_segment(pattern.substr(colon + 1), text.substr(cut + 1), values);
}

std::string_view take_segment(std::string_view& path) {
  const size_t slash = path.find('/');
  const std::string_view segment = path.substr(0, slash);
  path.remove_prefix(slash == std::string_view::npos ? path.size() : slash);
  return segment;
}

bool match_path(std::string_view pattern, std::string_view path,
                std::map<std::string, std::string>& values) {
  while (!pattern.empty() && !path.empty()) {
    pattern.remove_prefix(1);  // both begin with '/'
    path.remove_prefix(1);
    const std::string_view want = take_segment(pattern);
    const std::string_view have = take_segment(path);
    if (!match_segment(want, have, values)) return false;
  }
  return pattern.empty() && path.empty();
}

bool parse_query(std::string_view query, std::multimap<std::string, std::string>& out) {
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view field = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (field.empty()) continue;
    const size_t equals = field.find('=');
    const std::string_view raw = equals == std::string_view::npos ? "" : field.substr(equals + 1);
    std::string name;
    std::string value;
    if (!percent_decode(field.substr(0, equals), true, name)) return false;
    if (!percent_decode(raw, true, value) || out.size() == kMaxQueryFields) return false;
    out.emplace(std::move(name), std::move(value));
  }
  return true;
}

RouteMatch refusal(int status, std::string message) {
  RouteMatch match;
  match.status = status;
  match.message = std::move(message);
  return match;
}

void find_route(std::string_view method, std::string_view path, RouteMatch& match) {
  std::string allow;
  for (const Route& route : kRoutes) {
    std::map<std::string, std::string> values;
    if (!match_path(route.pattern, path, values)) continue;
    if (route.method == method || (route.method == "GET" && method == "HEAD")) {
      match.id = route.id;
      match.path = std::move(values);
      return;
    }
    allow += (allow.empty() ? "" : ", ") + std::string(route.method);
    if (route.method == "GET") allow += ", HEAD";
  }
  if (allow.empty()) {
    match =
        refusal(404, "there is nothing at " + quote_text(path) + "; /openapi.yaml lists the paths");
    return;
  }
  match = refusal(405, quote_text(path) + " does not take this method; it takes " + allow);
  match.allow = allow;
}

}  // namespace

std::span<const Route> http_routes() { return kRoutes; }

bool percent_decode(std::string_view text, bool in_query, std::string& out) {
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && in_query) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return false;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return false;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return true;
}

RouteMatch match_route(std::string_view method, std::string_view target) {
  if (target.size() > kMaxTarget) return refusal(414, "the request target is over 8 KiB");
  if (target.empty() || target[0] != '/') return refusal(400, "the request target is no path");
  const size_t question = target.find('?');
  const std::string_view path = target.substr(0, question);
  RouteMatch match;
  if (question != std::string_view::npos &&
      !parse_query(target.substr(question + 1), match.query)) {
    return refusal(400, "the query is malformed");
  }
  find_route(method, path, match);
  return match;
}

}  // namespace keiko::server
