#include "telemetry/catalogue.h"

#include <map>
#include <utility>
#include <vector>

#include "telemetry/rows.h"

namespace keiko::telemetry {

std::string to_text(MetricKind kind) { return kind == MetricKind::kGauge ? "gauge" : "counter"; }

std::span<const MetricRow> catalogue() {
  static const std::vector<MetricRow> all = [] {
    std::vector<MetricRow> rows;
    for (const auto part : {device_rows(), node_rows(), worker_rows(), network_rows()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return all;
}

const MetricRow* find_metric(SubjectKind subject, std::string_view reading) {
  static const std::map<std::pair<SubjectKind, std::string_view>, const MetricRow*> index = [] {
    std::map<std::pair<SubjectKind, std::string_view>, const MetricRow*> rows;
    for (const MetricRow& row : catalogue()) rows[{row.subject, row.reading}] = &row;
    return rows;
  }();
  const auto found = index.find({subject, reading});
  return found == index.end() ? nullptr : found->second;
}

}  // namespace keiko::telemetry
