// TpuDevices: Google's TPU chips of a cloud machine: those up to v4 behind a kernel driver of their
// own (/dev/accel0), the later ones handed to user space by vfio (/dev/vfio/0). For one thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "drivers/sysfs/sysfs_devices.h"

namespace keiko {

class TpuDevices : public SysfsDevices {
 public:
  explicit TpuDevices(SysfsOptions options) : SysfsDevices("google", std::move(options)) {}

 private:
  std::vector<SysfsDevice> find() const override;

  /// TPU_VISIBLE_CHIPS, and TPU_VISIBLE_DEVICES for an older libtpu, by the numbers of the nodes.
  /// libtpu takes an empty list for no list, so a worker without devices gets a number that no chip
  /// has. A part of the machine's chips needs their shape as well, which one, two or four have
  /// (TPU_CHIPS_PER_PROCESS_BOUNDS and, by its older name, TPU_CHIPS_PER_HOST_BOUNDS); all of them
  /// keep that of the slice, which the machine's metadata knows.
  std::map<std::string, std::string> variables(
      const std::vector<SysfsDevice>& chosen, const std::vector<SysfsDevice>& all) const override;

  /// Nothing: the chips are read through libtpu only, and only while a worker runs.
  void read_stats(const SysfsDevice&, StatsReader&) const override {}

  /// No file says so.
  std::string trouble(const SysfsDevice&) const override { return {}; }
};

}  // namespace keiko
