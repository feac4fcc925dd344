// Remedies: what can be done about a fault, and for each what it means: how ill the subject is, if
// it is quarantined, who has to act, and what ends it. One row a remedy; every other table of the
// room names remedies.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace keiko::health {

/// From the mildest to the gravest, so that of several the greatest is taken.
enum class Remedy : int {
  kIgnore = 0,       ///< recorded
  kRestartApp = 1,   ///< the program's own; the device is fine
  kObserve = 2,      ///< degraded for a while
  kRetest = 3,       ///< degraded until a test says so
  kContactSupport = 4,  ///< degraded; the vendor knows what it means; tested meanwhile
  kAskOperator = 5,  ///< degraded; software or a cable wants a person
  kRest = 6,         ///< quarantined until it recovers by itself
  kProve = 7,        ///< quarantined until a test passes
  kDrainReset = 8,   ///< takes no new work; is reset when what runs has ended
  kReset = 9,
  kReboot = 10,
  kInspect = 11,     ///< somebody has to look at the hardware
  kReplace = 12,     ///< the vendor's matter
};
std::string to_text(Remedy remedy);

enum class HealthLevel : int { kHealthy = 0, kDegraded = 1, kUnhealthy = 2 };
std::string to_text(HealthLevel level);

enum class HealthOwner : int { kKeiko = 0, kOperator = 1, kVendor = 2 };
std::string to_text(HealthOwner owner);

/// What ends a condition, as bits.
enum Exit : uint32_t {
  kByTimer = 1,
  kByRecovery = 2,  ///< the thing itself is well again: carrier back, memory returned
  kByRetest = 4,
  kByReset = 8,
  kByReboot = 16,
  kByOperator = 32,
};

/// RETURNS: "timer, re-test or operator" for the bits of `exits`.
std::string exits_text(uint32_t exits);

struct RemedyRule {
  Remedy remedy;
  const char* name;      ///< for state and API
  const char* asks_for;  ///< for sentences: "a reset"
  HealthLevel level;
  bool quarantine;
  HealthOwner owner;
  uint32_t exits;        ///< an operator ends everything
  Duration hold;         ///< with kByTimer: ends so long after it was last seen
};

/// RETURNS: the row of a remedy.
const RemedyRule& rule_of(Remedy remedy);

}  // namespace keiko::health
