#include "base/metric.h"

#include <cstdio>
#include <set>

namespace keiko {
namespace {

std::string number_text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.10g", value);
  return buffer;
}

void print_sample(std::string& out, const std::string& name, const std::string& labels,
                  const std::string& value) {
  out += name;
  if (!labels.empty()) out += "{" + labels + "}";
  out += " " + value + "\n";
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)) {
  for (size_t i = 0; i < bounds_.size(); ++i) buckets_.emplace_back(0);
}

void Histogram::observe(double value) {
  for (size_t i = 0; i < bounds_.size(); ++i) {
    if (value <= bounds_[i]) {
      buckets_[i].fetch_add(1, std::memory_order_relaxed);
      break;
    }
  }
  count_.fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

void Histogram::print(std::string& out, const std::string& name, const std::string& labels) const {
  const std::string before = labels.empty() ? "" : labels + ",";
  uint64_t below = 0;
  for (size_t i = 0; i < bounds_.size(); ++i) {
    below += buckets_[i].load(std::memory_order_relaxed);
    print_sample(out, name + "_bucket", before + "le=\"" + number_text(bounds_[i]) + "\"",
                 std::to_string(below));
  }
  const std::string count = std::to_string(count_.load(std::memory_order_relaxed));
  print_sample(out, name + "_bucket", before + "le=\"+Inf\"", count);
  print_sample(out, name + "_sum", labels, number_text(sum_.load(std::memory_order_relaxed)));
  print_sample(out, name + "_count", labels, count);
}

MetricRegistry::Row& MetricRegistry::row(const std::string& name, const std::string& help,
                                         const std::string& labels, Kind kind) {
  for (Row& row : rows_) {
    if (row.name == name && row.labels == labels) return row;
  }
  Row& row = rows_.emplace_back();
  row.name = name;
  row.help = help;
  row.labels = labels;
  row.kind = kind;
  return row;
}

Counter& MetricRegistry::counter(const std::string& name, const std::string& help,
                                 const std::string& labels) {
  const std::lock_guard lock(mutex_);
  return row(name, help, labels, Kind::kCounter).counter;
}

Gauge& MetricRegistry::gauge(const std::string& name, const std::string& help,
                             const std::string& labels) {
  const std::lock_guard lock(mutex_);
  return row(name, help, labels, Kind::kGauge).gauge;
}

Histogram& MetricRegistry::histogram(const std::string& name, const std::string& help,
                                     std::vector<double> bounds_seconds,
                                     const std::string& labels) {
  const std::lock_guard lock(mutex_);
  Row& found = row(name, help, labels, Kind::kHistogram);
  if (found.histogram.empty()) found.histogram.emplace_back(std::move(bounds_seconds));
  return found.histogram.front();
}

std::string MetricRegistry::text() const {
  const std::lock_guard lock(mutex_);
  static constexpr const char* kKinds[] = {"counter", "gauge", "histogram"};
  std::string out;
  std::set<std::string> printed;
  for (const Row& first : rows_) {
    if (!printed.insert(first.name).second) continue;
    out += "# HELP " + first.name + " " + first.help + "\n";
    out += "# TYPE " + first.name + " " + kKinds[static_cast<int>(first.kind)] + "\n";
    for (const Row& row : rows_) {
      if (row.name != first.name) continue;
      if (row.kind == Kind::kCounter) {
        print_sample(out, row.name, row.labels, std::to_string(row.counter.value()));
      } else if (row.kind == Kind::kGauge) {
        print_sample(out, row.name, row.labels, number_text(row.gauge.value()));
      } else {
        row.histogram.front().print(out, row.name, row.labels);
      }
    }
  }
  return out;
}

}  // namespace keiko
