// HwlocHost: the machine under the agent. Cores and memory come from hwloc, once, when the driver
// is made; NICs and the PCI bus from the kernel's files at every look. For one thread.
#pragma once

#include <string>

#include "drivers/host/hwloc/cpu_layout.h"
#include "drivers/sysfs/sysfs_tree.h"
#include "ports/host.h"

namespace keiko {

class HwlocHost : public Host {
 public:
  /// `root` holds sys and proc; "/" but for recorded machines. What hwloc cannot tell is left
  /// empty, and the log says so. REQUIRES: root is "/", or this process has one thread.
  explicit HwlocHost(const std::string& root);

  Result<HostSpec> fingerprint() override;

 private:
  SysfsTree tree_;
  CpuLayout cpus_;
};

}  // namespace keiko
