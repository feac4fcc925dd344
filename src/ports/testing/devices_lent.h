// LentDevices: passes everything on to devices that outlive it, for what opens a driver of its own
// again and again. As thread-safe as those.
#pragma once

#include "ports/devices.h"

namespace keiko {

class LentDevices : public Devices {
 public:
  explicit LentDevices(Devices& devices) : devices_(devices) {}

  Result<Inventory> fingerprint() override { return devices_.fingerprint(); }
  Result<std::map<std::string, std::string>> visibility(
      const std::vector<std::string>& uuids) override {
    return devices_.visibility(uuids);
  }
  Result<std::vector<DeviceStats>> stats() override { return devices_.stats(); }
  Result<std::vector<DeviceProcess>> processes(const std::string& uuid) override {
    return devices_.processes(uuid);
  }
  Result<std::vector<DeviceFault>> faults() override { return devices_.faults(); }

 private:
  Devices& devices_;
};

}  // namespace keiko
