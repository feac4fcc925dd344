#include "sim/swarm.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace keiko::sim {
namespace {

std::string seeds_text() {
  const std::string here = __FILE__;  // <root>/src/sim/swarm_test.cc
  std::ifstream in(here.substr(0, here.rfind("/src/")) + "/tests/seeds.txt");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string failures_text(const SwarmReport& report) {
  std::string text;
  for (const RunReport& failure : report.failures) text += failure_text(failure);
  return text;
}

// Fresh seeds in every run: a fault that the last thousand runs missed is found by the next one.
// The failing seed is in the message, with the command that reproduces it.
TEST(Swarm, fresh_seeds_and_those_that_once_failed_hold_every_invariant) {
  SwarmOptions options;
  options.also = read_seeds(seeds_text());
  ASSERT_FALSE(options.also.empty());
  options.seeds = 300;
  options.threads = 2;
  options.first_seed = static_cast<uint64_t>(
      std::chrono::system_clock::now().time_since_epoch().count() / 1'000'000);
  const SwarmReport report = run_swarm(options);
  EXPECT_TRUE(report.failures.empty()) << failures_text(report);
  EXPECT_EQ(report.runs, options.seeds + options.also.size());
  EXPECT_GE(report.run_twice, report.runs / 20) << "one run in twenty is compared with itself";
  EXPECT_GT(report.completed, report.jobs / 4) << "a swarm in which little gets done shows little";
  EXPECT_GT(report.restarts, report.runs / 10) << "faults that restart nothing test nothing";
}

TEST(Swarm, a_seed_means_the_same_run_every_time) {
  const SimOptions options = options_of_seed(4711);
  const RunReport first = run_seed(options);
  const RunReport second = run_seed(options);
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.state, second.state);
  EXPECT_EQ(first.events, second.events);
  EXPECT_NE(run_seed(options_of_seed(4712)).trace, first.trace);
}

TEST(Swarm, each_kind_of_fault_is_off_in_many_seeds_and_on_in_many) {
  int lossy = 0;
  int crashing = 0;
  int both = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const FaultOptions faults = options_of_seed(seed).faults;
    lossy += faults.lose > 0;
    crashing += faults.server_crash_every.ns > 0;
    both += faults.lose > 0 && faults.server_crash_every.ns > 0;
  }
  EXPECT_GT(lossy, 150);
  EXPECT_LT(lossy, 250);
  EXPECT_GT(crashing, 150);
  EXPECT_LT(crashing, 250);
  EXPECT_GT(both, 60);
}

TEST(Swarm, a_seeds_file_is_numbers_with_stories) {
  EXPECT_EQ(read_seeds("# comment\n12 # the story\n\n7\nnot a seed\n"),
            (std::vector<uint64_t>{12, 7}));
}

TEST(Swarm, a_failure_says_how_to_reproduce_it) {
  RunReport report;
  report.seed = 99;
  report.violations = {"gang_all_or_nothing: j1 has 1 of 2 ranks placed"};
  EXPECT_NE(failure_text(report).find("./dev sim --seed 99"), std::string::npos);
}

}  // namespace
}  // namespace keiko::sim
