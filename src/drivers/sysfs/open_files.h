// Who has a device file open, found in /proc, for drivers whose kernel keeps no list of its own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "drivers/sysfs/sysfs_tree.h"
#include "ports/devices.h"

namespace keiko {

/// RETURNS: the processes that have one of `files` ("/dev/accel/accel0") open, by pid, each once;
/// kUnimplemented if there are processes whose files this one may not see.
Result<std::vector<DeviceProcess>> processes_with_open(const SysfsTree& tree,
                                                       const std::vector<std::string>& files);

}  // namespace keiko
