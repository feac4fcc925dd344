// Holds a worker's group to its device rules, by the list of version 1 or the program of version 2,
// whichever the group has, and puts them back after somebody else has changed them: a service
// manager that reloads rewrites the rules of groups it thinks its own. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "drivers/substrate/process/devices/device_rules.h"

namespace keiko::process {

/// RETURNS: that of a worker's groups which can hold device rules; empty: none can.
std::string device_group(const std::vector<std::string>& folders);

/// Makes the rules hold in `folder`. RETURNS: an Error if the kernel does not allow it.
Done hold_devices(const std::string& folder, const std::vector<DeviceRule>& rules);

/// Looks at the rules and mends them. RETURNS: what was found wrong, a sentence; empty if nothing
/// was. An Error if they cannot be read or mended.
Result<std::string> restore_devices(const std::string& folder,
                                    const std::vector<DeviceRule>& rules);

}  // namespace keiko::process
