// Judges an incident of faults as a whole: its root, and what is to be done.
//
//   62 → 45 → 119 → 154      one device, within the window: one incident, its root is 62
//                 └ the driver's advice: obeyed if there is one, else the gravest row of the table
//
// Pure functions; the answer depends on what was seen and when it happened, not on the order in
// which it was told.
#pragma once

#include "core/health/incident.h"

namespace keiko::health {

struct Judgement {
  std::string cause;       ///< of the root
  const Sighting* root = nullptr;
  Remedy remedy = Remedy::kIgnore;
  FaultScope scope = FaultScope::kDevice;
  uint32_t more_exits = 0;
  int32_t gpu_instance = -1;
};

/// REQUIRES: the incident has a sighting; sightings are of Role::kFault.
Judgement judge(const Incident& incident, const HealthOptions& options);

/// What the driver's recovery action (the number behind XID 154's "to") asks for. RETURNS: false
/// for a number that is none.
bool remedy_of_advice(int64_t action, Remedy& remedy);

/// RETURNS: `remedy`, or a graver one if this cause came back often after milder ones.
Remedy escalate(Remedy remedy, const Recurrence& past, const HealthOptions& options);

}  // namespace keiko::health
