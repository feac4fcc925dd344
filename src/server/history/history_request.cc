#include "server/history/history_request.h"

#include <tuple>

#include "base/text.h"
#include "server/queries.h"
#include "wire/convert.h"

namespace keiko::server {
namespace {

constexpr Duration kUsual = hours(1);
constexpr Duration kMost = hours(24 * 366 * 10);

Result<Duration> span_of(bool given, const google::protobuf::Duration& in, const char* field) {
  if (!given) return Duration{};
  const Duration span = TRY(from_proto(in, field));
  if (span.ns >= 0 && span <= kMost) return span;
  return invalid_argument(std::string(field) + ": must be between 0 and ten years", field);
}

/// "3" or a UUID. One that is not there now may have been.
void find_device(const NodeState& node, const std::string& device, HistoryPlace& place) {
  for (const Device& one : node.spec.devices) {
    if (one.uuid != device && std::to_string(one.index) != device) continue;
    place.device = one.uuid;
    return;
  }
  place.device = device;
  place.known = not_found("node " + node.spec.name + " has no device " + quote_text(device) +
                          ", and its history none in that time; `keiko devices` lists those "
                          "there are");
}

}  // namespace

Result<HistorySpan> parse_history_span(const v1::GetHistoryRequest& request) {
  HistorySpan span;
  span.since = TRY(span_of(request.has_since(), request.since(), "since"));
  span.until = TRY(span_of(request.has_until(), request.until(), "until"));
  span.step = TRY(span_of(request.has_step(), request.step(), "step"));
  if (span.since.ns == 0) span.since = span.until + kUsual;
  if (span.since > span.until) return span;
  return invalid_argument("since: " + to_text(span.since) + " ago is not before until, " +
                              to_text(span.until) + " ago", "since");
}

HistoryPlace find_history_place(const View& view, const v1::GetHistoryRequest& request) {
  HistoryPlace place;
  const Result<const NodeState*> found = find_node(view.state, request.node());
  if (!found.ok()) {
    place.node = request.node();
    place.device = request.device();
    place.known = found.error();
    return place;
  }
  const NodeState& node = **found;
  place.node = node.spec.name;
  for (const Device& one : node.spec.devices) place.indices[one.uuid] = one.index;
  if (!request.device().empty()) find_device(node, request.device(), place);
  return place;
}

Result<v1::GetHistoryResponse> to_response(const HistoryPlace& place, const HistoryAnswer& answer) {
  v1::GetHistoryResponse out;
  out.set_node(place.node);
  set_proto(*out.mutable_since(), Time{answer.plan.since.ns});
  set_proto(*out.mutable_until(), Time{answer.plan.until.ns});
  set_proto(*out.mutable_step(), answer.plan.step);
  const auto index_of = [&place](const std::string& uuid) {
    const auto found = place.indices.find(uuid);
    return found == place.indices.end() ? -1 : found->second;
  };
  // The node's own first, then present devices by index, then those that are gone.
  using Place = std::tuple<bool, uint32_t, std::string, std::string>;
  std::map<Place, v1::MetricHistory> series;
  for (const auto& [at, subjects] : answer.spans) {
    for (const auto& [uuid, buckets] : subjects) {
      for (const auto& [metric, bucket] : buckets) {
        const int32_t index = index_of(uuid);
        v1::MetricHistory& one =
            series[{!uuid.empty(), static_cast<uint32_t>(index), uuid, metric}];
        one.set_device(uuid);
        one.set_index(index);
        one.set_metric(metric);
        v1::MetricPoint& point = *one.add_points();
        set_proto(*point.mutable_at(), Time{at});
        point.set_min(bucket.min);
        point.set_max(bucket.max);
        point.set_mean(bucket.mean);
        point.set_count(bucket.count);
      }
    }
  }
  if (series.empty()) TRY(place.known);
  for (auto& [where, one] : series) out.add_series()->Swap(&one);
  return out;
}

}  // namespace keiko::server
