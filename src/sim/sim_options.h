// Options of one simulated run. A seed draws them all (swarm testing: whole kinds of faults are off
// in most seeds, so that each run stresses few things hard); a scenario sets them by hand.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace keiko::sim {

/// Chances in 1/10,000 per message or per effect, mean times between faults; 0 switches a kind off.
struct FaultOptions {
  int64_t lose = 0;
  int64_t duplicate = 0;
  int64_t reorder = 0;             ///< a message is late by up to `late_max`
  Duration late_max = seconds(3);
  int64_t crash_before_effect = 0; ///< the server dies between two effects
  Duration partition_every;
  Duration server_crash_every;
  Duration agent_crash_every;
  Duration machine_crash_every;
  Duration worker_kill_every;
  Duration operator_every;         ///< one of the nodes' or the jobs' actions, by chance
  int64_t drift_ppm_max = 0;
};

struct SimOptions {
  uint64_t seed = 1;
  int32_t nodes = 3;
  int32_t devices_per_node = 2;
  int32_t jobs = 12;
  Duration safety_phase = minutes(6);
  Duration liveness_phase = minutes(40);  ///< after healing, all must be done by then
  Duration delay_min = microseconds(100);
  Duration delay_max = milliseconds(5);
  int32_t snapshot_every = 0;             ///< journal records between snapshots; 0: never
  FaultOptions faults;
  bool trace = false;
};

/// RETURNS: the options that a seed stands for.
SimOptions options_of_seed(uint64_t seed);

}  // namespace keiko::sim
