#include "cli/show/history_view.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/bytes.h"
#include "wire/convert.h"

namespace keiko::cli {
namespace {

constexpr const char* kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr size_t kNarrowest = 12;
constexpr size_t kWidest = 80;

/// All of a series in one: what is said of it in words.
struct Extent {
  double min = 0;
  double max = 0;
  double mean = 0;
  double last = 0;
  int64_t count = 0;
};

Extent extent_of(const v1::MetricHistory& series) {
  Extent extent;
  for (const v1::MetricPoint& point : series.points()) {
    const bool first = extent.count == 0;
    extent.min = first ? point.min() : std::min(extent.min, point.min());
    extent.max = first ? point.max() : std::max(extent.max, point.max());
    extent.count += std::max<int64_t>(point.count(), 1);
    const double part = static_cast<double>(std::max<int64_t>(point.count(), 1)) /
                        static_cast<double>(extent.count);
    extent.mean += (point.mean() - extent.mean) * part;
    extent.last = point.mean();
  }
  return extent;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", value < 10 && value != 0 ? 2 : 0, value);
  return text;
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Duration step_of(const v1::GetHistoryResponse& history) {
  return seconds(history.step().seconds()) + nanoseconds(history.step().nanos());
}

/// The mean of the points whose spans fall into a column, as a block; blank without any.
std::string curve_of(const v1::MetricHistory& series, const v1::GetHistoryResponse& history,
                     size_t width) {
  const int64_t since = from_proto(history.since()).ns;
  const int64_t range = std::max<int64_t>(from_proto(history.until()).ns - since, 1);
  std::vector<double> sum(width, 0);
  std::vector<int> count(width, 0);
  const auto column_at = [&](int64_t ns) {
    const double part = static_cast<double>(ns - since) / static_cast<double>(range);
    const double column = std::clamp(part, 0.0, 1.0) * static_cast<double>(width);
    return std::min(static_cast<size_t>(column), width - 1);
  };
  for (const v1::MetricPoint& point : series.points()) {
    const int64_t from = from_proto(point.at()).ns;
    const size_t last = column_at(from + step_of(history).ns - 1);
    for (size_t at = column_at(from); at <= last; ++at) {
      sum[at] += point.mean();
      ++count[at];
    }
  }
  double high = 0;
  for (size_t i = 0; i < width; ++i) {
    if (count[i] > 0) high = std::max(high, sum[i] / count[i]);
  }
  std::string out;
  for (size_t i = 0; i < width; ++i) {
    if (count[i] == 0) {
      out += ' ';
      continue;
    }
    const double part = high > 0 ? std::max(sum[i] / count[i], 0.0) / high : 0;
    out += kLevels[static_cast<size_t>(part * 7 + 0.5)];
  }
  return out;
}

std::string subject_text(const v1::MetricHistory& series, const std::string& node) {
  if (series.device().empty()) return printable(node);
  if (series.index() < 0) return printable(node + "/" + series.device()) + "  (not there now)";
  return printable(node + "/" + std::to_string(series.index()) + "  " + series.device());
}

std::string clock_text(Time at) {
  std::string text = to_text(at);  // "2026-12-02T07:06:53.120Z"
  text[10] = ' ';
  return text.substr(0, 19);
}

/// Says how old the newest number is where it is older than the question.
std::string silence_text(const v1::GetHistoryResponse& history, const Duration& step) {
  Time newest;
  for (const v1::MetricHistory& series : history.series()) {
    if (series.points().empty()) continue;
    newest = std::max(newest, from_proto(series.points().rbegin()->at()) + step);
  }
  const Duration silent = from_proto(history.until()) - newest;
  return silent > seconds(30) + step ? ", nothing in the last " + to_text(silent) : "";
}

size_t curve_width(const Console& console, size_t names) {
  constexpr size_t kNumbers = 4 * 11 + 4;  // as wide as the columns below
  const size_t width = static_cast<size_t>(std::max(console.size().width, 1));
  const size_t taken = names + kNumbers;
  return std::clamp(width > taken ? width - taken : 0, kNarrowest, kWidest);
}

std::string right(const std::string& text, size_t width) {
  const size_t used = display_width(text);
  return std::string(used < width ? width - used : 0, ' ') + text;
}

std::string left(const std::string& text, size_t width) {
  const size_t used = display_width(text);
  return text + std::string(used < width ? width - used : 0, ' ');
}

}  // namespace

std::string metric_text(const std::string& metric, double value) {
  if (ends_with(metric, "_ratio")) return number_text(value * 100) + "%";
  if (ends_with(metric, "_bytes")) return to_text(Bytes{static_cast<int64_t>(value)});
  if (ends_with(metric, "_celsius")) return number_text(value) + "C";
  if (ends_with(metric, "_watts")) return number_text(value) + "W";
  return number_text(value);
}

std::string history_page(const v1::GetHistoryResponse& history, const Console& console) {
  const Duration step = step_of(history);
  std::string out = printable(history.node()) + "  " + clock_text(from_proto(history.since())) +
                    " to " + clock_text(from_proto(history.until())) + " UTC, by " +
                    to_text(step);
  if (history.series().empty()) return out + "\nnothing was measured in that time\n";
  out += silence_text(history, step) + "\n";
  size_t names = 0;
  for (const v1::MetricHistory& series : history.series()) {
    names = std::max(names, display_width(printable(series.metric())));
  }
  const size_t width = curve_width(console, names);
  std::string subject;
  for (const v1::MetricHistory& series : history.series()) {
    const std::string now = subject_text(series, history.node());
    if (now != subject) {
      out += "\n" + console.paint(Colour::kBold, left(now, names + 2 + width)) +
             console.paint(Colour::kDim, right("MIN", 11) + right("MEAN", 11) + right("MAX", 11) +
                                             right("LAST", 11)) + "\n";
    }
    subject = now;
    const Extent extent = extent_of(series);
    out += left(printable(series.metric()), names) + "  " +
           console.paint(Colour::kCyan, curve_of(series, history, width));
    for (const double value : {extent.min, extent.mean, extent.max, extent.last}) {
      out += right(metric_text(series.metric(), value), 11);
    }
    out += "\n";
  }
  return out;
}

Table history_table(const v1::GetHistoryResponse& history) {
  Table table;
  table.columns = {{"SUBJECT"}, {"METRIC"},     {"MIN", true},    {"MEAN", true},
                   {"MAX", true}, {"LAST", true}, {"POINTS", true}, {"UUID"}};
  for (const v1::MetricHistory& series : history.series()) {
    const Extent extent = extent_of(series);
    std::string subject = history.node();
    if (series.index() >= 0) subject += "/" + std::to_string(series.index());
    const std::string& metric = series.metric();
    table.rows.push_back({printable(subject), printable(metric), metric_text(metric, extent.min),
                          metric_text(metric, extent.mean), metric_text(metric, extent.max),
                          metric_text(metric, extent.last),
                          std::to_string(series.points_size()), printable(series.device())});
  }
  return table;
}

}  // namespace keiko::cli
