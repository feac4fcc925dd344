// IntelDevices: Intel's discrete GPUs by what the kernel tells of them, under either of its
// drivers, i915 and xe. An integrated GPU shares the host's memory and is no accelerator of the
// pool; it is counted, because Level Zero counts it. For one thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "drivers/sysfs/sysfs_devices.h"

namespace keiko {

class IntelDevices : public SysfsDevices {
 public:
  explicit IntelDevices(SysfsOptions options) : SysfsDevices("intel", std::move(options)) {}

 private:
  std::vector<SysfsDevice> find() const override;

  /// ZE_AFFINITY_MASK counts whole GPUs (ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE) on the bus
  /// (ZE_ENABLE_PCI_ID_DEVICE_ORDER=1); Level Zero takes an empty mask for no mask, so a worker
  /// without devices gets a number that no GPU has. ONEAPI_DEVICE_SELECTOR undoes what a worker
  /// inherits: SYCL takes what the mask leaves.
  std::map<std::string, std::string> variables(
      const std::vector<SysfsDevice>& chosen, const std::vector<SysfsDevice>& all) const override;

  void read_stats(const SysfsDevice& device, StatsReader& reader) const override;

  /// Neither driver has a file that says so.
  std::string trouble(const SysfsDevice&) const override { return {}; }
};

}  // namespace keiko
