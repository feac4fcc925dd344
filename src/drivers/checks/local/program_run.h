// Runs a program of an operator's to its end: a check, or one that tells where a node stands. It
// gets a process group of its own and no input. When it has ended, or its time is up, everything
// that is left of its group is killed. Safe from any thread.
#pragma once

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace keiko::checks {

struct ProgramRun {
  std::vector<std::string> words;  ///< the first is a path
  Duration limit;
  size_t most_output = 4096;       ///< what follows is read and dropped
  bool joins_errors = true;        ///< its stderr is output, too; else it is ours
  std::string folder = {};         ///< it starts there; empty: where we are
  /// All that it gets; nothing: what we have.
  std::optional<std::map<std::string, std::string>> environment = {};
};

struct ProgramEnd {
  enum class How { kEnded, kLate, kStopped };
  How how = How::kEnded;
  int status = 0;           ///< as wait(2) has it
  std::string output;
  bool was_cut = false;     ///< it printed more than that
};

/// RETURNS: an Error if it cannot be started.
Result<ProgramEnd> run_program(const ProgramRun& run, const std::stop_token& stop);

}  // namespace keiko::checks
