// Lemon scores: incidents, each counted as one on its day and half as much a half-life later. A few
// devices and nodes cause most failures; the score says which. Integers alone, so that all machines
// agree.
#pragma once

#include "core/health/incident.h"

namespace keiko::health {

inline constexpr int64_t kOneIncident = 1'000'000;

/// RETURNS: `millionths` after `elapsed` has passed.
int64_t decayed(int64_t millionths, Duration elapsed, Duration half_life);

/// Counts an incident that happened at `at`; the order of calls does not matter.
void charge(LemonScore& score, Time at, Duration half_life);

/// RETURNS: the score as it is at `now`, in millionths of an incident.
int64_t score_at(const LemonScore& score, Time now, Duration half_life);

}  // namespace keiko::health
