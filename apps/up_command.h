// `keiko up` from its options to its exit code: in the foreground, into the background, or --stop.
#pragma once

#include "base/result.h"
#include "up_options.h"

namespace keiko::up {

/// REQUIRES: options.state_dir is absolute. RETURNS: after the pool has stopped, or with --detach
/// after it is ready.
Done run_up(const UpOptions& options);

/// RETURNS: kNotFound if nothing of a pool runs on that folder.
Done stop_pool(const UpOptions& options);

}  // namespace keiko::up
