// What a device's readings say about its health: memory errors counted, rows that wait to be
// remapped or could not be, heat and power that slow it down.
//
// Counters are told when they grow, states when they begin; what slows a device down is told for as
// long as it lasts. One object a node, which remembers the last readings; one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/health/options.h"
#include "model/health.h"
#include "model/reading.h"

namespace keiko::health {

/// Where and when readings were taken.
struct ReadingPlace {
  std::string node;
  std::string boot;
  Time at;
};

class ReadingFindings {
 public:
  explicit ReadingFindings(const HealthOptions& options = {}) : options_(options) {}

  /// RETURNS: what is new since the readings before, or goes on. A counter that was never read
  /// before says nothing by itself, but for errors beyond what a device may have in its life.
  std::vector<Observation> look(const std::vector<Reading>& readings, const ReadingPlace& place);

 private:
  const HealthOptions options_;
  std::map<std::string, Values> before_;  ///< by UUID
};

}  // namespace keiko::health
