// What the world does to the system in a seeded run: the faults, the operator's hands, the users'
// jobs. Everything is drawn from the run's seed.
#pragma once

#include "sim/world.h"

namespace keiko::sim {

/// Schedules jobs, operators and faults over the safety phase.
class Disturbance {
 public:
  explicit Disturbance(World& world);

  /// Ends every fault: machines up, network whole, nodes uncordoned, jobs released.
  void heal();

 private:
  void submit_later(int32_t number);
  void repeat(Duration mean, void (Disturbance::*fault)());
  void partition();
  void crash_server();
  void crash_agent();
  void crash_machine();
  void kill_worker();
  void operate();
  SimMachine& some_machine();
  Duration around(Duration mean);

  World& world_;
  bool healed_ = false;
};

/// RETURNS: a random job that a pool of these nodes can hold.
JobSpec random_job(Prng& prng, const SimOptions& options);

}  // namespace keiko::sim
