// A parsed scenario as JSON, for a runner of real processes (tests/e2e/scenario_test.py). So the
// grammar has one parser, and what the file leaves out has one default.
#pragma once

#include <string>

#include "sim/scenario.h"

namespace keiko::sim {

/// RETURNS: one line: title, virtual_only, machines, jobs (spec and program), steps, end_ms and the
/// expected trace, each line of it split into time, speaker, name and text.
std::string to_json(const Scenario& scenario, const std::string& path);

}  // namespace keiko::sim
