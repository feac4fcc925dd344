// The recorded machines and those of the fake library as nodes, by way of the real drivers. For the
// tests of this folder.
#pragma once

#include <iterator>
#include <string>
#include <utility>

#include "drivers/devices/nvml/nvml_devices.h"
#include "drivers/devices/nvml/nvml_fixture.h"
#include "drivers/devices/rocm/rocm_devices.h"
#include "drivers/host/hwloc/hwloc_host.h"
#include "drivers/sysfs/machine_fixture.h"
#include "model/node.h"

namespace keiko {

inline NodeSpec node_of(const std::string& name, Devices& devices) {
  NodeSpec node;
  node.name = name;
  Inventory inventory = MUST(devices.fingerprint());
  node.devices = std::move(inventory.devices);
  node.links = std::move(inventory.links);
  return node;
}

inline NodeSpec mi300x() {
  const RecordedMachine machine("mi300x_8");
  HwlocHost host(machine.root());
  RocmDevices devices(SysfsOptions{machine.root(), {}});
  NodeSpec node = node_of("mi300x", devices);
  node.host = MUST(host.fingerprint());
  node.labels = {{"rack", "r7"}, {"zone", "west"}};
  return node;
}

/// The library's eight H100 in the slots of the machine with eleven InfiniBand devices.
inline NodeSpec h100() {
  const RecordedMachine machine("h100_ib");
  HwlocHost host(machine.root());
  FakeNvml library("h100x8_nvswitch");
  const char* const buses[] = {"13", "33", "4b", "5b", "93", "b3", "cb", "db"};
  for (size_t i = 0; i < std::size(buses); ++i) {
    const std::string gpu = "/gpus/" + std::to_string(i);
    library.set(gpu + "/pci", "\"0000:" + std::string(buses[i]) + ":00.0\"");
    library.set(gpu + "/numa", i < 4 ? "0" : "1");
  }
  NvmlDevicesOptions options = library.options();
  options.places.sys_root = machine.root() + "/sys";
  NvmlDevices devices(options);
  NodeSpec node = node_of("h100", devices);
  node.host = MUST(host.fingerprint());
  return node;
}

}  // namespace keiko
