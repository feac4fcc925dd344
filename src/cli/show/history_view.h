// How the past of metrics looks.
#pragma once

#include <string>

#include "cli/console.h"
#include "cli/show/table.h"
#include "keiko/v1/cluster.pb.h"

namespace keiko::cli {

/// A paragraph for the node and one for each device: a line a metric with a curve of its means
/// (blank where nothing was told; its foot is 0) and what it was at least, in the mean, at most and
/// last.
std::string history_page(const v1::GetHistoryResponse& history, const Console& console);

/// A row for each metric of each device, without curves.
Table history_table(const v1::GetHistoryResponse& history);

/// RETURNS: a value in the unit that its metric's name ends with: "97%", "40GiB", "31C", "650W".
std::string metric_text(const std::string& metric, double value);

}  // namespace keiko::cli
