// RocmDevices: AMD's accelerators by what the kernel tells of them, without a vendor library: KFD's
// topology for nodes, memory and XGMI, the amdgpu driver's files below each PCI device for
// readings. Called from one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drivers/devices/rocm/kfd_topology.h"
#include "drivers/sysfs/lost_devices.h"
#include "drivers/sysfs/pci_function.h"
#include "drivers/sysfs/sysfs_devices.h"
#include "drivers/sysfs/sysfs_tree.h"
#include "ports/devices.h"

namespace keiko {

/// One GPU, or a partition of one, in PCI order.
struct RocmGpu {
  Device device;
  KfdNode node;
  PciFunction function;  ///< empty address: the kernel does not tell where it is
  /// How ROCR_VISIBLE_DEVICES names it: by UUID, or by its place among KFD's GPUs where it has no
  /// serial number or shares it with another partition.
  std::string rocr_name;
};

class RocmDevices : public Devices {
 public:
  explicit RocmDevices(SysfsOptions options)
      : options_(std::move(options)), tree_(options_.root) {}

  /// RETURNS: no devices on a machine without AMD's driver.
  Result<Inventory> fingerprint() override;

  /// ROCR_VISIBLE_DEVICES by UUID; the HIP runtime counts what that leaves from 0, so
  /// HIP_VISIBLE_DEVICES holds 0 to n-1 and undoes what a worker inherits. A worker without devices
  /// gets an empty list, which hides all, and -1.
  Result<std::map<std::string, std::string>> visibility(
      const std::vector<std::string>& uuids) override;

  Result<std::vector<DeviceStats>> stats() override;

  /// RETURNS: the processes that hold memory of the device, which KFD counts.
  Result<std::vector<DeviceProcess>> processes(const std::string& uuid) override;

  /// Lost devices, and memory errors that were not corrected since the driver began to look.
  Result<std::vector<DeviceFault>> faults() override;

 private:
  Result<std::vector<RocmGpu>> find_gpus();
  RocmGpu describe(const KfdNode& node, size_t place) const;
  std::vector<Link> links(const std::vector<RocmGpu>& gpus) const;

  SysfsOptions options_;
  SysfsTree tree_;
  LostDevices lost_;
  std::map<std::string, int64_t> uncorrected_;  ///< by UUID, at the last look
};

/// RETURNS: the readings of one GPU; what it does not tell is absent.
DeviceStats read_rocm_stats(const SysfsTree& tree, const RocmGpu& gpu);

/// RETURNS: the memory errors of a GPU that were not corrected ("ue") over all blocks that count
/// them; nothing if none does.
std::optional<int64_t> uncorrected_errors(const SysfsTree& tree, const std::string& folder);

}  // namespace keiko
