#include "ports/devices_fake.h"

namespace keiko {

Result<Inventory> FakeDevices::fingerprint() {
  if (error_.code != Code::kOk) return error_;
  return inventory_;
}

Result<std::map<std::string, std::string>> FakeDevices::visibility(
    const std::vector<std::string>& uuids) {
  if (error_.code != Code::kOk) return error_;
  const std::string list = TRY(uuids_in_index_order(inventory_, uuids));
  return std::map<std::string, std::string>{{"KEIKO_VISIBLE_DEVICES", list}};
}

Result<std::vector<DeviceStats>> FakeDevices::stats() {
  if (error_.code != Code::kOk) return error_;
  std::vector<DeviceStats> readings;
  for (const Device& device : inventory_.devices) {
    const auto scripted = stats_.find(device.uuid);
    readings.push_back(scripted != stats_.end() ? scripted->second
                                                : DeviceStats{device.uuid,
                                                              {{"utilisation_ratio", 0.0}}});
  }
  return readings;
}

Result<std::vector<DeviceProcess>> FakeDevices::processes(const std::string& uuid) {
  if (error_.code != Code::kOk) return error_;
  TRY(check_device_here(inventory_, uuid));
  return processes_[uuid];
}

Result<std::vector<DeviceFault>> FakeDevices::faults() {
  if (error_.code != Code::kOk) return error_;
  return std::exchange(faults_, {});
}

Inventory fake_inventory(int32_t count, Bytes memory) {
  Inventory inventory;
  for (int32_t i = 0; i < count; ++i) {
    Device device;
    device.uuid = "fake-" + std::to_string(i);
    device.kind = "fake";
    device.vendor = "fake";
    device.index = i;
    device.memory = memory;
    inventory.devices.push_back(device);
  }
  return inventory;
}

}  // namespace keiko
