#include "sim/sim_options.h"

#include "base/prng.h"

namespace keiko::sim {
namespace {

/// Half of the seeds lack a given kind of fault altogether.
int64_t sometimes(Prng& prng, int64_t low, int64_t high) {
  return prng.chance(1, 2) ? 0 : prng.between(low, high);
}

Duration sometimes_every(Prng& prng, int64_t low_s, int64_t high_s) {
  return seconds(sometimes(prng, low_s, high_s));
}

}  // namespace

SimOptions options_of_seed(uint64_t seed) {
  Prng prng(splitmix64(seed) ^ 0x6b65696b6fULL);
  SimOptions options;
  options.seed = seed;
  options.nodes = static_cast<int32_t>(prng.between(1, 6));
  options.devices_per_node = static_cast<int32_t>(prng.between(0, 4));
  options.jobs = static_cast<int32_t>(prng.between(1, 25));
  options.snapshot_every = static_cast<int32_t>(sometimes(prng, 5, 60));
  options.delay_max = milliseconds(prng.between(1, 200));
  FaultOptions& faults = options.faults;
  faults.lose = sometimes(prng, 1, 300);
  faults.duplicate = sometimes(prng, 1, 500);
  faults.reorder = sometimes(prng, 1, 500);
  faults.late_max = milliseconds(prng.between(100, 15'000));
  faults.crash_before_effect = sometimes(prng, 1, 60);
  faults.partition_every = sometimes_every(prng, 10, 120);
  faults.server_crash_every = sometimes_every(prng, 10, 120);
  faults.agent_crash_every = sometimes_every(prng, 5, 120);
  faults.machine_crash_every = sometimes_every(prng, 20, 240);
  faults.worker_kill_every = sometimes_every(prng, 5, 120);
  faults.operator_every = sometimes_every(prng, 3, 60);
  faults.drift_ppm_max = sometimes(prng, 1, 10'000);
  return options;
}

}  // namespace keiko::sim
