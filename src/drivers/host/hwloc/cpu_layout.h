// CpuLayout: cores, memory and sockets as hwloc finds them. hwloc knows what the kernel's files
// alone do not tell: which cores a cgroup leaves to this process, memory without cores, firmware
// that lies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/host.h"

namespace keiko {

struct CpuLayout {
  int32_t packages = 0;
  std::vector<NumaNode> numa;  ///< by index
};

/// `root` is what "/" is elsewhere: it holds sys and proc. hwloc takes another root than "/" from
/// its process's environment alone, so that is set while it reads, and put back.
/// REQUIRES: root is "/", or no thread was started yet in this process.
/// RETURNS: kFailedPrecondition where that does not hold; kUnavailable if hwloc cannot tell.
Result<CpuLayout> read_cpu_layout(const std::string& root);

}  // namespace keiko
