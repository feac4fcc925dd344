// A bug is planted in one source file (see CMakeLists.txt): the swarm must find it, by the checker
// that guards the invariant.
#include <gtest/gtest.h>

#include "sim/run_seed.h"

namespace keiko::sim {
namespace {

/// Far more than any of the bugs needs; most show within ten.
constexpr uint64_t kMostSeeds = 300;

bool found_by(const std::string& checker, const RunReport& report) {
  for (const std::string& violation : report.violations) {
    if (violation.starts_with(checker + ": ")) return true;
  }
  return false;
}

TEST(PlantedBug, is_found_by_its_checker) {
  for (uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    SimOptions options = options_of_seed(seed);
    // A snapshot that breaks the law would stop the server before a checker sees it.
    options.snapshot_every = 0;
    if (!found_by(PLANTED_CHECKER, run_seed(options))) continue;
    std::printf("found by seed %llu\n", static_cast<unsigned long long>(seed));
    return;
  }
  FAIL() << PLANTED_CHECKER << " found nothing in " << kMostSeeds << " seeds";
}

}  // namespace
}  // namespace keiko::sim
