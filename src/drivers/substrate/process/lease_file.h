// The lease file: until when this machine's workers may run. The agent writes it at each renewal,
// every shim reads it; it outlives the agent, which is its purpose. Times are of CLOCK_BOOTTIME, so
// that a step of the wall clock means nothing and a suspended machine does not stretch its lease.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "drivers/substrate/process/files.h"

namespace keiko::process {

struct LeaseLeft {
  Duration ends_in;  ///< negative once it has ended
  Duration kill_in;  ///< when shims kill their workers
};

/// Writes in place, within one page: a reader sees the old or the new one. No fsync: a machine that
/// loses it has lost its workers too.
class LeaseFile {
 public:
  Done write(const std::string& path, Duration ends_in, Duration kill_in);

 private:
  Fd file_;
};

/// RETURNS: nothing if there is no lease, or if it is of another boot.
std::optional<LeaseLeft> read_lease(const std::string& path);

}  // namespace keiko::process
