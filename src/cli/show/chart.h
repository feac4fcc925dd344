// Pictures of numbers in a terminal's characters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace keiko::cli {

struct Point {
  int64_t step = 0;
  double value = 0;
};

struct ChartSize {
  size_t width = 60;   ///< columns in all, axis included
  size_t height = 8;   ///< rows of the curve; two more are below it
};

/// RETURNS: height + 2 lines: a curve of block characters, eight levels a row, with the values at
/// the left and the steps below. Steps need not be equally far apart; several in one column are
/// averaged. Values that are not finite are left out. Empty lines before the second point.
std::vector<std::string> curve_lines(const std::vector<Point>& points, const ChartSize& size);

/// RETURNS: one line of `width` columns: "▁▂▄▇█".
std::string sparkline(const std::vector<double>& values, size_t width);

}  // namespace keiko::cli
