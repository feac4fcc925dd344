// One seeded run: a safety phase under faults, healing, a liveness phase, and the verdict of every
// checker.
#pragma once

#include <string>
#include <vector>

#include "base/digest.h"
#include "sim/sim_options.h"

namespace keiko::sim {

struct RunReport {
  uint64_t seed = 0;
  std::vector<std::string> violations;
  Digest trace;            ///< of every line of the run
  Digest state;            ///< of the final state
  uint64_t events = 0;
  uint64_t jobs = 0;
  uint64_t completed = 0;
  uint64_t failed = 0;
  uint64_t restarts = 0;   ///< attempts beyond the first

  bool ok() const { return violations.empty(); }
};

/// Runs the options' world to its end. Deterministic: equal options give equal reports.
RunReport run_seed(const SimOptions& options);

}  // namespace keiko::sim
