// What the outcomes of checks mean: whether work may start, and what the judge is told.
#pragma once

#include <string>
#include <vector>

#include "model/check.h"
#include "model/health.h"

namespace keiko::health {

/// RETURNS: the first outcome that forbids work, or nullptr. A warning does not, nor does a check
/// that came to no answer: a check that is broken must not stop a cluster.
const CheckOutcome* forbids_work(const std::vector<CheckOutcome>& outcomes);

/// Has what was tested proved itself? Not if a check came to no answer, nor if nothing was checked.
bool has_proved_itself(const std::vector<CheckOutcome>& outcomes);

/// RETURNS: "not covered: compute (why)" for what nobody could check; empty if all was.
std::string not_covered(const std::vector<CheckOutcome>& outcomes);

/// What was checked, on which node, when.
struct CheckedSubject {
  HealthSubject subject;  ///< of a re-test: what ends if it passed
  CheckKind kind = CheckKind::kPreflight;
  Time at;
  std::string boot;
};

/// RETURNS: an observation for each outcome, and of a re-test that was passed that it was; of a
/// reset, that the device was reset and answers, or that it could not be.
std::vector<Observation> observations_of(const CheckedSubject& checked,
                                         const std::vector<CheckOutcome>& outcomes);

}  // namespace keiko::health
