#include "drivers/sysfs/lost_devices.h"

#include <chrono>
#include <set>
#include <utility>

namespace keiko {

void LostDevices::see(const Inventory& inventory) {
  std::set<std::string> here;
  for (const Device& device : inventory.devices) {
    here.insert(device.uuid);
    seen_[device.uuid] = {device.kind + " at " + device.pci_address, true};
  }
  for (auto& [uuid, seen] : seen_) {
    if (!seen.here || here.count(uuid) != 0) continue;
    seen.here = false;
    faults_.push_back({uuid, FaultKind::kLost, 0, wall_time_now(),
                       "the kernel no longer lists " + seen.name +
                           "; it fell off the bus or its driver let go, a reboot brings it back "
                           "if it is sound"});
  }
}

std::vector<DeviceFault> LostDevices::take() { return std::exchange(faults_, {}); }

WallTime wall_time_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

}  // namespace keiko
