// Port Host: what this machine is beside its accelerators: NUMA nodes, NICs, where things hang on
// the PCI bus.
//
// One verb. A driver never blocks for long and never throws; what the machine does not tell is left
// empty, never guessed. Called from the agent's loop thread.
#pragma once

#include "base/result.h"
#include "model/host.h"

namespace keiko {

class Host {
 public:
  virtual ~Host() = default;

  /// RETURNS: what is there now; the same machine in the same state gives equal answers, over
  /// restarts too. NUMA nodes by index; NICs in the order of the bus, bonds last, each name once.
  virtual Result<HostSpec> fingerprint() = 0;
};

}  // namespace keiko
