// LostDevices: notices that a device which was here is gone, for drivers whose kernel raises no
// event. Each absence is told once; a device that came back and left again is told again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/device.h"
#include "ports/devices.h"

namespace keiko {

class LostDevices {
 public:
  /// Compares what is here now with what ever was. Call it with every inventory that was read.
  void see(const Inventory& inventory);

  /// RETURNS: the losses since the last call, oldest first.
  std::vector<DeviceFault> take();

 private:
  struct Seen {
    std::string name;  ///< for a person: kind and PCI address
    bool here = true;
  };
  std::map<std::string, Seen> seen_;  ///< by UUID
  std::vector<DeviceFault> faults_;
};

/// RETURNS: the wall clock, for DeviceFault::at.
WallTime wall_time_now();

}  // namespace keiko
