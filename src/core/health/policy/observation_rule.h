// The policy for everything that is not an XID, as data: one row for each kind of observation.
#pragma once

#include <cstdint>

#include "core/health/policy/xid_table.h"
#include "model/health.h"

namespace keiko::health {

enum class Role : int {
  kFault = 0,      ///< a fault of a device; those near each other are one incident
  kCondition = 1,  ///< holds as long as it is told of; its kind and detail name it
  kEnding = 2,     ///< ends what is open
  kRecord = 3,     ///< noted, changes nothing
};

struct ObservationRule {
  ObservationKind kind;
  Role role;
  Remedy remedy;
  uint32_t more_exits;  ///< beyond those of the remedy
  const char* words;    ///< for sentences
  uint32_t fewer_exits = 0;  ///< of the remedy's: what does not end this
};

/// RETURNS: the row, or nullptr for a kind from a newer version.
const ObservationRule* find_rule(ObservationKind kind);

/// RETURNS: what the observation is called as a cause: "xid_79", "check_disk", "link_down".
std::string cause_of(ObservationKind kind, int64_t code, const std::string& detail);

}  // namespace keiko::health
