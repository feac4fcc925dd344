// SysfsDevices: what is common to drivers of accelerators that the kernel's files alone describe.
// A vendor's driver says which functions on the PCI bus are its devices and which variables show
// them; this class gives them their places, names, links, holders and losses. For one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "drivers/sysfs/lost_devices.h"
#include "drivers/sysfs/pci_function.h"
#include "drivers/sysfs/stats_reader.h"
#include "drivers/sysfs/sysfs_tree.h"
#include "ports/devices.h"

namespace keiko {

struct SysfsOptions {
  /// What holds sys, proc and dev; tests move it.
  std::string root = "/";
  /// Makes the UUIDs of devices without a serial number this node's own, as for CPU slots. Empty:
  /// the PCI address alone, which is enough on one machine.
  std::string instance;
};

/// One accelerator as its vendor's driver finds it.
struct SysfsDevice {
  /// Kind, product, memory, driver and files are the vendor driver's to fill; what follows from the
  /// function is filled in afterwards.
  Device device;
  PciFunction function;
  std::vector<std::string> nodes;  ///< who has one of these open holds it; no node that is shared
  std::string folder;              ///< where the vendor's kernel driver keeps its files
  int64_t number = -1;             ///< by which the vendor's runtime counts it
};

class SysfsDevices : public Devices {
 public:
  SysfsDevices(std::string vendor, SysfsOptions options)
      : vendor_(std::move(vendor)), options_(std::move(options)), tree_(options_.root) {}

  /// RETURNS: no devices on a machine without any of this vendor, or without its kernel driver.
  Result<Inventory> fingerprint() final;
  Result<std::map<std::string, std::string>> visibility(
      const std::vector<std::string>& uuids) final;
  Result<std::vector<DeviceStats>> stats() final;

  /// RETURNS: the processes that have a node of the device open; what they hold on it nobody tells.
  Result<std::vector<DeviceProcess>> processes(const std::string& uuid) final;

  /// Devices that are gone, and those of which the kernel driver says that they do not work.
  Result<std::vector<DeviceFault>> faults() final;

 protected:
  const SysfsTree& tree() const { return tree_; }

 private:
  /// RETURNS: the devices in the order of the bus.
  virtual std::vector<SysfsDevice> find() const = 0;

  /// RETURNS: the variables that show a worker the devices `chosen` out of `all`, both in order.
  virtual std::map<std::string, std::string> variables(
      const std::vector<SysfsDevice>& chosen, const std::vector<SysfsDevice>& all) const = 0;

  virtual void read_stats(const SysfsDevice& device, StatsReader& reader) const = 0;

  /// RETURNS: one sentence about a device that is there and does not work; empty for a sound one.
  virtual std::string trouble(const SysfsDevice& device) const = 0;

  std::vector<SysfsDevice> find_named() const;

  std::string vendor_;
  SysfsOptions options_;
  SysfsTree tree_;
  LostDevices lost_;
  std::map<std::string, std::string> trouble_;  ///< by UUID, what was told of it last
};

/// RETURNS: the UUID of a device that has no serial number: "amd-" and a digest of where it is.
std::string place_uuid(const std::string& vendor, const SysfsOptions& options,
                       const std::string& place);

}  // namespace keiko
