#include "agent/metrics/pages.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace keiko::agent {
namespace {

constexpr const char* kIndex =
    "/metrics                      everything now, for Prometheus\n"
    "/history?name=METRIC[&id=ID]  the past of one metric, as JSON\n"
    "\n"
    "METRIC is a name of /metrics; ID a device's UUID, a NIC, a disk or a worker.\n"
    "fine: [unix seconds, value] every second for 10 minutes;\n"
    "coarse: [unix seconds, mean, maximum] every 10 seconds for 6 hours. What was not read is "
    "left\n"
    "out. Counters grow on over restarts of what they count.\n";

int hex_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// RETURNS: the text with its percent escapes undone; a bad escape stands for itself.
std::string decoded(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_of(text[i + 1]) >= 0 &&
                        hex_of(text[i + 2]) >= 0;
    out += escape ? static_cast<char>(hex_of(text[i + 1]) * 16 + hex_of(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return out;
}

std::map<std::string, std::string> parse_query(const std::string& query) {
  std::map<std::string, std::string> values;
  for (const std::string& pair : split(query, '&')) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) continue;
    values[decoded(pair.substr(0, equals))] = decoded(pair.substr(equals + 1));
  }
  return values;
}

/// Points carry the brain's kind of time; people and boards want the wall's.
nlohmann::json points_json(const std::vector<telemetry::Point>& points, int64_t wall_shift_ns,
                           bool with_most) {
  nlohmann::json list = nlohmann::json::array();
  for (const telemetry::Point& point : points) {
    nlohmann::json one = {(point.at.ns + wall_shift_ns) / 1'000'000'000, point.mean};
    if (with_most) one.push_back(point.most);
    list.push_back(std::move(one));
  }
  return list;
}

nlohmann::json past_json(const telemetry::Past& past, int64_t wall_shift_ns) {
  const bool gauge = past.row->kind == telemetry::MetricKind::kGauge;
  nlohmann::json one = {{"name", past.row->name},
                        {"id", past.subject.id},
                        {"labels", past.row->labels},
                        {"kind", telemetry::to_text(past.row->kind)},
                        {"unit", past.row->unit},
                        {"fine", points_json(past.fine, wall_shift_ns, false)},
                        {"coarse", points_json(past.coarse, wall_shift_ns, gauge)}};
  if (!gauge) one["resets"] = past.resets;
  return one;
}

HttpReply history_page(const std::string& query, const PageSources& sources) {
  const std::map<std::string, std::string> asked = parse_query(query);
  const auto name = asked.find("name");
  if (name == asked.end()) {
    return {400, "text/plain", "say which metric: /history?name=keiko_device_power_watts\n"};
  }
  const auto id = asked.find("id");
  const auto pasts = sources.past(name->second, id == asked.end() ? "" : id->second);
  if (pasts.empty()) {
    return {404, "text/plain",
            "nothing is kept of " + quote_text(name->second) +
                (id == asked.end() ? "" : " of " + quote_text(id->second)) +
                "; /metrics lists what there is\n"};
  }
  const int64_t shift_ns = sources.wall().ns - sources.now().ns;
  nlohmann::json list = nlohmann::json::array();
  for (const telemetry::Past& past : pasts) list.push_back(past_json(past, shift_ns));
  const nlohmann::json page = {{"series", std::move(list)}};
  // Ids may be any bytes that the kernel gives; they must not throw here.
  return {200, "application/json",
          page.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

}  // namespace

HttpReply page_of(const std::string& target, const PageSources& sources) {
  const size_t mark = target.find('?');
  const std::string path = target.substr(0, mark);
  const std::string query = mark == std::string::npos ? "" : target.substr(mark + 1);
  if (path == "/metrics") {
    return {200, "text/plain; version=0.0.4; charset=utf-8", sources.metrics()};
  }
  if (path == "/history") return history_page(query, sources);
  if (path == "/") return {200, "text/plain; charset=utf-8", kIndex};
  return {404, "text/plain", "there is /metrics and /history\n"};
}

}  // namespace keiko::agent
