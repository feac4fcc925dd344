// Health in sentences and at a glance: what a person or a page is told of a subject or an incident.
#pragma once

#include <string>
#include <vector>

#include "core/health/health_state.h"

namespace keiko::health {

/// How one subject is: its gravest condition, and whether it may take work.
struct HealthView {
  HealthSubject subject;
  HealthLevel level = HealthLevel::kHealthy;
  bool quarantined = false;
  bool on_probation = false;
  Time probation_until;
  std::string cause;      ///< empty if healthy
  std::string evidence;
  Time since;
  HealthOwner owner = HealthOwner::kKeiko;
  Remedy remedy = Remedy::kIgnore;
  uint32_t exits = 0;
  Time ends_at;           ///< 0: by no timer
  uint64_t incident = 0;
  int64_t lemon_millionths = 0;
  std::string sentence;   ///< "unhealthy since 2026-12-02T07:06:53.120Z: xid_79 (...); ..."
};

/// RETURNS: the view of a subject at the state's time; healthy if nothing is known of it. A device
/// may be named by UUID or PCI address; a slice has what its device has.
HealthView view_of(const HealthState& state, const HealthSubject& subject);

/// RETURNS: the views of everything that ever had something, worst lemon first.
std::vector<HealthView> lemons(const HealthState& state);

/// RETURNS: the incident in one sentence: cause, what was done, how it ended.
std::string story(const Incident& incident);

/// RETURNS: a few words for a sighting: "fell off the bus".
std::string words_of(const Sighting& seen);

/// RETURNS: the open or kept incident of this id, or nullptr.
const Incident* find_incident(const HealthState& state, uint64_t id);

}  // namespace keiko::health
