// A connection to a port of a worker's loopback, as a Visit: both its streams are the socket. It is
// dialled in the worker's network namespace; the worker's end is its end. Nothing is started for
// it.
#pragma once

#include <memory>

#include "drivers/substrate/process/records.h"
#include "ports/attach/worker_door.h"

namespace keiko::process {

/// `folder`: the worker's. `port` 0: no connection, the visit only lasts as long as the worker.
/// RETURNS: kFailedPrecondition if the worker does not run; kUnavailable if nothing listens there.
Result<std::unique_ptr<Visit>> make_link_visit(const std::string& folder, int port);

}  // namespace keiko::process
