// What was counted already. A line of the kernel's log is one line however often it is read (a
// restarted agent reads the log from its beginning); an XID that the vendor's library tells of as
// well is one XID. What cannot be remembered any more is taken for seen.
#pragma once

#include "core/health/health_state.h"

namespace keiko::health {

/// Lines that are remembered of one node; the oldest go first.
inline constexpr size_t kMaxSeenLines = 1024;

/// RETURNS: whether this is the first time; remembers it. What has no boot_us is always the first
/// time. REQUIRES: `subject` of the observation is as the node names it.
bool first_time(SeenLines& seen, const Observation& observation, Duration twin_window);

}  // namespace keiko::health
