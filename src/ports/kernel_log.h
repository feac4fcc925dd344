// Port KernelLog: follows the kernel's log of this machine.
//
// One verb, which never waits: what is there now, oldest first, each record once. The kernel keeps
// its log in a ring and overwrites what nobody has read, so a reader can be too late; how many
// records that were is told, never hidden. Called from the agent's loop thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/kernel_record.h"

namespace keiko {

struct KernelLogBatch {
  std::vector<KernelRecord> records;  ///< in the log's order
  uint64_t lost = 0;        ///< records that were overwritten before they were read
  uint64_t unreadable = 0;  ///< records that made no sense: torn, or of a newer form
  bool more = false;        ///< as many as asked for; there may be more to read now
};

class KernelLog {
 public:
  virtual ~KernelLog() = default;

  /// RETURNS: at most `most` records that came since the last call; the first call begins with the
  /// oldest that the kernel still has. kPermissionDenied or kNotFound if the log cannot be opened,
  /// kUnavailable if it can no longer be read; a later call tries again.
  /// REQUIRES: most > 0.
  virtual Result<KernelLogBatch> read(size_t most) = 0;
};

}  // namespace keiko
