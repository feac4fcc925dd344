// What a process in an image may not do, beyond what its files and devices allow: the system calls
// that are refused, and the way down for a process that enters a running container by itself. The
// runtime does the same for the first one (oci_config.h).
#pragma once

#include <vector>

#include "base/result.h"

namespace keiko::process {

struct DeniedCall {
  const char* name;
  long number;
};

/// Calls that reach the kernel in ways that no training needs: they end with EPERM.
const std::vector<DeniedCall>& denied_calls();

/// The calling process becomes the root user of its user namespace, with no capability and no way
/// to new ones. RETURNS: an Error that says which step failed.
Done confine_self();

}  // namespace keiko::process
