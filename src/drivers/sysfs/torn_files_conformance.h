// What every driver by sysfs must survive: files that are cut, empty, nonsense or huge. They may
// cost a device or a reading; they may not become one that was never there. For tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/prng.h"
#include "drivers/sysfs/machine_fixture.h"
#include "ports/devices.h"

namespace keiko {

/// Makes the driver under test over the machine at a root.
using DriverAtRoot = std::unique_ptr<Devices> (*)(const std::string& root);

/// What of a recorded machine's devices is true, by the PCI address.
inline std::map<std::string, Device> sound_devices(const std::string& name, DriverAtRoot make) {
  const RecordedMachine machine(name);
  std::map<std::string, Device> devices;
  for (const Device& device : MUST(make(machine.root())->fingerprint()).devices) {
    devices.emplace(device.pci_address, device);
  }
  return devices;
}

/// Holds what was found, and its readings, against what is true.
inline void expect_nothing_invented(Devices& driver, const std::map<std::string, Device>& sound) {
  const Result<Inventory> inventory = driver.fingerprint();
  if (!inventory.ok()) return;
  Bytes most;
  for (const auto& [address, device] : sound) most = std::max(most, device.memory);
  EXPECT_LE(inventory->devices.size(), sound.size());
  for (const Device& device : inventory->devices) {
    EXPECT_FALSE(device.uuid.empty());
    EXPECT_FALSE(device.kind.empty());
    EXPECT_GE(device.memory.count, 0);
    EXPECT_LE(device.memory, most);
    EXPECT_TRUE(device.pci_address.empty() || sound.contains(device.pci_address))
        << device.pci_address;
  }
  const Result<std::vector<DeviceStats>> stats = driver.stats();
  if (!stats.ok()) return;
  for (const DeviceStats& one : *stats) {
    for (const auto& [name, value] : one.values) EXPECT_LT(value, 1e15) << name;
  }
}

/// Breaks a dozen of a recorded machine's files at once, many times over.
inline void expect_survives_torn_files(const std::string& name, DriverAtRoot make) {
  const std::map<std::string, Device> sound = sound_devices(name, make);
  RecordedMachine machine(name);
  std::vector<std::string> files = machine.files();
  std::erase_if(files,
                [](const std::string& file) { return file.starts_with("sys/devices/system"); });
  Prng prng(3);
  for (int round = 0; round < 60; ++round) {
    std::map<std::string, std::string> before;
    for (int broken = 0; broken < 12; ++broken) {
      const std::string& file = files[prng.below(files.size())];
      const std::string content = machine.read(file);
      before.emplace(file, content);
      const std::string torn[] = {"", content.substr(0, prng.below(content.size() + 1)),
                                  "garbage\n", "99999999999999999999999\n", "-1\n"};
      machine.write(file, torn[prng.below(5)]);
    }
    expect_nothing_invented(*make(machine.root()), sound);
    for (const auto& [file, content] : before) machine.write(file, content);
  }
}

}  // namespace keiko
