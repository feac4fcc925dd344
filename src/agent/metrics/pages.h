// The pages of the agent's metrics port: what is behind each path. Pure but for what it is given.
#pragma once

#include <string>

#include "agent/metrics/http_port.h"
#include "base/time.h"
#include "telemetry/record.h"

namespace keiko::agent {

/// Where the pages get their contents from; each may be called from the port's thread.
struct PageSources {
  std::function<std::string()> metrics;
  /// The past of a metric by name; of all subjects if the id is empty.
  std::function<std::vector<telemetry::Past>(const std::string& name, const std::string& id)> past;
  std::function<Time()> now;        ///< on the clock of the points
  std::function<WallTime()> wall;
};

/// RETURNS: "/metrics", "/history?name=NAME[&id=ID]" as JSON, "/" as a list of them; 404 for
/// others.
HttpReply page_of(const std::string& target, const PageSources& sources);

}  // namespace keiko::agent
