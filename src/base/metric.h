// Metrics: counters, gauges and histograms with the text exposition format of Prometheus 0.0.4.
//
// A shell owns a MetricRegistry and hands out references; there is no global registry. Names are
// snake_case, start with "keiko_" and end with their unit ("_seconds", "_bytes", "_total").
// Counting is lock-free; registering and printing take a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace keiko {

/// Only goes up.
class Counter {
 public:
  void add(uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

/// Goes up and down.
class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// Counts of values at or below each bound, with their sum.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);
  void observe(double value);
  void print(std::string& out, const std::string& name, const std::string& labels) const;

 private:
  std::vector<double> bounds_;
  std::deque<std::atomic<uint64_t>> buckets_;
  std::atomic<uint64_t> count_{0};
  std::atomic<double> sum_{0};
};

class MetricRegistry {
 public:
  /// `labels` is the inside of the braces: `state="ready"`, or empty. The reference lives as long
  /// as the registry; the same name and labels twice give the same metric.
  Counter& counter(const std::string& name, const std::string& help,
                   const std::string& labels = "");
  Gauge& gauge(const std::string& name, const std::string& help, const std::string& labels = "");
  Histogram& histogram(const std::string& name, const std::string& help,
                       std::vector<double> bounds_seconds, const std::string& labels = "");

  /// RETURNS: every metric in registration order, families together.
  std::string text() const;

 private:
  enum class Kind { kCounter, kGauge, kHistogram };
  struct Row {
    std::string name, help, labels;
    Kind kind;
    Counter counter;
    Gauge gauge;
    std::deque<Histogram> histogram;
  };
  Row& row(const std::string& name, const std::string& help, const std::string& labels, Kind kind);

  mutable std::mutex mutex_;
  std::deque<Row> rows_;
};

}  // namespace keiko
