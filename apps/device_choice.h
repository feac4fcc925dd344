// Which driver stands behind the port Devices of one agent: the word given to --devices.
#pragma once

#include <memory>
#include <string>

#include "drivers/devices/cpu/cpu_devices.h"
#include "drivers/devices/nvml/nvml_devices.h"
#include "drivers/sysfs/sysfs_devices.h"

namespace keiko::apps {

struct DeviceChoice {
  /// "auto" (accelerators where there are any, else cpu slots), a driver's name, or a number of cpu
  /// slots.
  std::string devices = "auto";
  CpuDevicesOptions cpu;
  NvmlDevicesOptions nvml;
  SysfsOptions sysfs;  ///< for all drivers that read the kernel's own files
};

/// RETURNS: the driver; kInvalidArgument for a word that is none. An accelerator's driver that was
/// asked for by name need not work yet: its verbs say why.
Result<std::unique_ptr<Devices>> make_devices(const DeviceChoice& choice);

}  // namespace keiko::apps
