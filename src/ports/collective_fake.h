// FakeCollective: the ranks are threads of one process. For tests of whoever uses the port, and for
// several ranks without sockets. The last rank to arrive does the work for all under one lock.
#pragma once

#include <memory>
#include <vector>

#include "base/time.h"
#include "ports/collective.h"

namespace keiko {

struct FakeCollectiveOptions {
  int world = 2;
  /// How long a rank waits for the others before the operation fails.
  Duration op_timeout = seconds(30);
};

/// RETURNS: one Collective per rank. A rank that is destroyed counts as dead: others that wait for
/// it, or ask for anything later, get kUnavailable. REQUIRES: world >= 1.
std::vector<std::unique_ptr<Collective>> make_fake_collectives(
    const FakeCollectiveOptions& options);

}  // namespace keiko
