#include "drivers/sysfs/sysfs_devices.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "drivers/sysfs/open_files.h"

namespace keiko {
namespace {

Inventory inventory_of(const std::vector<SysfsDevice>& found) {
  Inventory inventory;
  std::vector<PciFunction> functions;
  for (const SysfsDevice& one : found) {
    inventory.devices.push_back(one.device);
    functions.push_back(one.function);
  }
  inventory.links = pcie_links(functions);
  return inventory;
}

}  // namespace

std::vector<SysfsDevice> SysfsDevices::find_named() const {
  std::vector<SysfsDevice> found = find();
  int32_t index = 0;
  for (SysfsDevice& one : found) {
    Device& device = one.device;
    device.vendor = vendor_;
    device.index = index++;
    device.pci_address = one.function.address;
    device.uuid = place_uuid(vendor_, options_, device.pci_address);
    device.numa_node = numa_node_of(one.function);
    device.host_megabytes_per_s = one.function.healthy_megabytes_per_s;
  }
  return found;
}

Result<Inventory> SysfsDevices::fingerprint() {
  Inventory inventory = inventory_of(find_named());
  lost_.see(inventory);
  return inventory;
}

Result<std::map<std::string, std::string>> SysfsDevices::visibility(
    const std::vector<std::string>& uuids) {
  const std::vector<SysfsDevice> all = find_named();
  const Inventory inventory = inventory_of(all);
  for (const std::string& uuid : uuids) TRY(check_device_here(inventory, uuid));
  std::vector<SysfsDevice> chosen;
  for (const SysfsDevice& one : all) {
    if (std::find(uuids.begin(), uuids.end(), one.device.uuid) != uuids.end()) {
      chosen.push_back(one);
    }
  }
  return variables(chosen, all);
}

Result<std::vector<DeviceStats>> SysfsDevices::stats() {
  std::vector<DeviceStats> readings;
  for (const SysfsDevice& one : find_named()) {
    DeviceStats stats{one.device.uuid, {}};
    StatsReader reader(tree_, stats);
    read_stats(one, reader);
    readings.push_back(std::move(stats));
  }
  return readings;
}

Result<std::vector<DeviceProcess>> SysfsDevices::processes(const std::string& uuid) {
  const std::vector<SysfsDevice> all = find_named();
  const auto one = std::find_if(all.begin(), all.end(),
                                [&](const SysfsDevice& d) { return d.device.uuid == uuid; });
  if (one == all.end()) return check_device_here({}, uuid).error();
  return processes_with_open(tree_, one->nodes);
}

Result<std::vector<DeviceFault>> SysfsDevices::faults() {
  const std::vector<SysfsDevice> all = find_named();
  lost_.see(inventory_of(all));
  std::vector<DeviceFault> faults = lost_.take();
  std::map<std::string, std::string> now;
  for (const SysfsDevice& one : all) {
    const std::string text = trouble(one);
    if (text.empty()) continue;
    if (trouble_.count(one.device.uuid) == 0) {
      faults.push_back({one.device.uuid, FaultKind::kLost, 0, wall_time_now(), text});
    }
    now.emplace(one.device.uuid, text);
  }
  trouble_ = std::move(now);
  return faults;
}

std::string place_uuid(const std::string& vendor, const SysfsOptions& options,
                       const std::string& place) {
  return vendor + "-" + to_text(digest_of(options.instance + "/" + place));
}

}  // namespace keiko
