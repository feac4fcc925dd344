// `keiko sim`: seeds, one seed, scenarios, and journals brought into the simulator.
#pragma once

#include <string>
#include <vector>

namespace keiko::sim {

/// Runs the verb with its arguments (without "sim"). RETURNS: 0, 1 for a failed run, 2 for usage.
///
///   --seeds N [--first S]     a swarm of fresh seeds (the first from the clock unless given)
///   --seed S [--trace]        one seed, with its trace
///   --also FILE               seeds that once failed, run first (tests/seeds.txt)
///   scenario FILE... [--update] [--trace]
///   replay FILE               apply every record of a journal dump and print the state's digest
int sim_main(const std::vector<std::string>& arguments);

}  // namespace keiko::sim
