// GaudiDevices: Intel's Gaudi chips by what the habanalabs kernel driver tells of them, in the
// kernel's class accel or, before Linux 6.5, in a class of its own. For one thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "drivers/sysfs/sysfs_devices.h"

namespace keiko {

class GaudiDevices : public SysfsDevices {
 public:
  explicit GaudiDevices(SysfsOptions options) : SysfsDevices("habana", std::move(options)) {}

 private:
  std::vector<SysfsDevice> find() const override;

  /// HABANA_VISIBLE_MODULES by module id, which SynapseAI obeys and which stays over a reboot;
  /// HABANA_VISIBLE_DEVICES by the number of the node, which Habana's container runtime obeys. A
  /// worker without devices gets a module that no machine has, and "none". A driver that tells no
  /// module ids leaves the first variable out: then the device files alone hold workers apart.
  std::map<std::string, std::string> variables(
      const std::vector<SysfsDevice>& chosen, const std::vector<SysfsDevice>& all) const override;

  void read_stats(const SysfsDevice& device, StatsReader& reader) const override;

  /// A chip that waits for a reset by hand, or that the driver has given up.
  std::string trouble(const SysfsDevice& device) const override;
};

}  // namespace keiko
