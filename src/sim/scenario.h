// Scenario files: a cluster, commands and faults, what to expect, and the trace that follows.
//
//   # One worker of two is killed; the job goes on from its checkpoint.
//   cluster nodes=2 devices=1
//   job a workers=2 devices=1 run=20s checkpoint=5s
//   at 1s submit a
//   at 9s kill a rank=1
//   at 60s expect a COMPLETED attempts=2
//   end 60s
//   ----
//   <the expected trace>
//
// Actions: submit J, cancel|hold|release|requeue J, kill J rank=R, crash server|agent N|machine N,
// start server|agent N, partition N, reconnect N, cordon|drain|uncordon|forget N, expect J STATUS
// [attempts=K] [reason=R] [exit=C], expect-node N STATUS.
// Job keys: workers devices cpu memory priority restarts infra_restarts grace time_limit one_node
// and those of sim/program.h. Parsing is strict; errors name the line.
//
// The same file runs against real processes, too (tests/e2e/scenario_test.py), unless it says
// `clock virtual WHY`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "sim/sim_options.h"

namespace keiko::sim {

struct ScenarioStep {
  Duration at;
  int line = 0;
  std::vector<std::string> words;  ///< "kill" "a" "rank=1"
};

struct Scenario {
  std::string title;
  SimOptions options;
  std::map<std::string, JobSpec> jobs;
  std::vector<ScenarioStep> steps;
  Duration end = seconds(60);
  bool virtual_only = false;       ///< "clock virtual WHY": no sense against real processes
  std::string virtual_because;     ///< the reason
  std::string head;                ///< everything above the line of dashes, for --update
  std::string expected;            ///< the trace below it
};

Result<Scenario> parse_scenario(const std::string& text);

struct ScenarioReport {
  std::string trace;
  std::vector<std::string> failures;  ///< expectations and checkers that did not hold
  bool trace_matches = false;
  bool ok() const { return failures.empty() && trace_matches; }
};

/// Runs the scenario under the virtual clock.
ScenarioReport run_scenario(const Scenario& scenario);

/// RETURNS: the file with the trace replaced.
std::string updated(const Scenario& scenario, const ScenarioReport& report);

}  // namespace keiko::sim
