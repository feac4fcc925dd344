// Fake programs: what a worker does in the simulator, read from its command:
//
//   sim run=60s checkpoint=5s exit=1 fail_at=20s stubborn cannot_start
//
// run: how long the work takes in all; a restart goes on from the checkpoint it is given. exit: the
// code at the end. fail_at: exits with 1 once the work done reaches this point, in attempt 1 only.
// stubborn: ignores SIGTERM. cannot_start: there is no such program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace keiko::sim {

struct Program {
  Duration run = seconds(10);
  Duration checkpoint;
  Duration fail_at;
  int32_t exit_code = 0;
  bool stubborn = false;
  bool cannot_start = false;
};

Result<Program> parse_program(const std::vector<std::string>& command);
std::vector<std::string> command_of(const Program& program);

}  // namespace keiko::sim
