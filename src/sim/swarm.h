// Many seeds over all cores: progress, the failing seed with the command that reproduces it, and
// the same seed run twice now and then, since a run that differs from itself cannot be debugged.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/run_seed.h"

namespace keiko::sim {

struct SwarmOptions {
  uint64_t first_seed = 1;
  uint64_t seeds = 200;
  int threads = 0;             ///< 0: one per core
  std::vector<uint64_t> also;  ///< seeds that once failed, run first
};

struct SwarmReport {
  uint64_t runs = 0;
  uint64_t run_twice = 0;
  uint64_t events = 0;
  uint64_t jobs = 0;
  uint64_t completed = 0;
  uint64_t restarts = 0;
  std::vector<RunReport> failures;
};

/// Runs the swarm. `progress` is called now and then from the calling thread with runs done.
SwarmReport run_swarm(
    const SwarmOptions& options,
    const std::function<void(uint64_t done, uint64_t failed)>& progress = nullptr);

/// Reads a seeds file: one seed a line, then '#' and its story.
std::vector<uint64_t> read_seeds(const std::string& text);

/// RETURNS: "seed 17: <violations>\n  reproduce: ./dev sim --seed 17 --trace".
std::string failure_text(const RunReport& report);

}  // namespace keiko::sim
