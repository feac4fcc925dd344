#include "cli/show/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/console.h"
#include "cli/show/job_view.h"

namespace keiko::cli {
namespace {

constexpr const char* kLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr size_t kAxis = 8;  // "  4.217 ┤" without the tick

std::string axis_label(double value) {
  char text[32];
  std::snprintf(text, sizeof text, std::fabs(value) < 1000 ? "%7.3f " : "%7.3g ", value);
  return text;
}

/// The mean of each column's points; columns without any are filled from their neighbours.
std::vector<double> columns_of(const std::vector<Point>& points, size_t width) {
  const int64_t first = points.front().step;
  const int64_t span = std::max<int64_t>(points.back().step - first, 1);
  std::vector<double> sum(width, 0);
  std::vector<int> count(width, 0);
  for (const Point& point : points) {
    const double part = static_cast<double>(point.step - first) / static_cast<double>(span);
    const size_t column =
        std::min(static_cast<size_t>(part * static_cast<double>(width)), width - 1);
    sum[column] += point.value;
    ++count[column];
  }
  std::vector<double> out(width);
  size_t last = 0;  // the first column always has a point
  for (size_t i = 0; i < width; ++i) {
    if (count[i] == 0) continue;
    out[i] = sum[i] / count[i];
    for (size_t j = last + 1; j < i; ++j) {
      const double part = static_cast<double>(j - last) / static_cast<double>(i - last);
      out[j] = out[last] + (out[i] - out[last]) * part;
    }
    last = i;
  }
  for (size_t j = last + 1; j < width; ++j) out[j] = out[last];
  return out;
}

std::vector<Point> finite(const std::vector<Point>& points) {
  std::vector<Point> kept;
  for (const Point& point : points) {
    // After a restart steps come again; the later value is the one that counts.
    while (!kept.empty() && kept.back().step >= point.step) kept.pop_back();
    if (std::isfinite(point.value)) kept.push_back(point);
  }
  return kept;
}

}  // namespace

std::vector<std::string> curve_lines(const std::vector<Point>& points, const ChartSize& size) {
  std::vector<std::string> lines(size.height + 2);
  const std::vector<Point> shown = finite(points);
  if (shown.size() < 2 || size.height == 0 || size.width < kAxis + 12) return lines;
  const size_t width = size.width - kAxis - 1;
  const std::vector<double> columns = columns_of(shown, width);
  double low = *std::min_element(columns.begin(), columns.end());
  double high = *std::max_element(columns.begin(), columns.end());
  if (high - low < 1e-9) {
    low -= 0.5;
    high += 0.5;
  }
  const double levels = static_cast<double>(size.height * 8 - 1);
  for (size_t row = 0; row < size.height; ++row) {
    const double part =
        static_cast<double>(row) / static_cast<double>(size.height - 1 + (size.height == 1));
    const bool labelled = row == 0 || row + 1 == size.height || row == size.height / 2;
    lines[row] = (labelled ? axis_label(high - (high - low) * part) : std::string(kAxis, ' ')) +
                 (labelled ? "┤" : "│");
    const int floor = static_cast<int>((size.height - 1 - row) * 8);
    for (const double value : columns) {
      const int level = 1 + static_cast<int>((value - low) / (high - low) * levels + 0.5) - floor;
      lines[row] += kLevels[std::clamp(level, 0, 8)];
    }
  }
  std::string rule = std::string(kAxis, ' ') + "└";
  for (size_t i = 0; i < width; ++i) rule += "─";
  lines[size.height] = rule;
  const std::string from = grouped(shown.front().step);
  const std::string until = "step " + grouped(shown.back().step);
  const size_t used = from.size() + until.size();
  lines[size.height + 1] = std::string(kAxis + 1, ' ') + from +
                           std::string(used < width ? width - used : 1, ' ') + until;
  return lines;
}

std::string sparkline(const std::vector<double>& values, size_t width) {
  std::string out;
  const size_t start = values.size() > width ? values.size() - width : 0;
  double high = 0;
  for (size_t i = start; i < values.size(); ++i) high = std::max(high, values[i]);
  for (size_t i = start; i < values.size(); ++i) {
    const double part = high > 0 && std::isfinite(values[i]) ? std::max(values[i], 0.0) / high : 0;
    out += kLevels[1 + static_cast<int>(part * 7 + 0.5)];
  }
  return out + std::string(width - (values.size() - start), ' ');
}

}  // namespace keiko::cli
