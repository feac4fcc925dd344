#include "drivers/devices/rocm/rocm_devices.h"

#include <gtest/gtest.h>

#include "drivers/sysfs/machine_fixture.h"
#include "drivers/sysfs/torn_files_conformance.h"
#include "ports/devices_conformance.h"

namespace keiko {
namespace {

/// What the machine's memory banks say.
constexpr Bytes kMi300xMemory{206'141'652'992};

SysfsOptions options_of(const RecordedMachine& machine) {
  SysfsOptions options;
  options.root = machine.root();
  return options;
}

/// The machine stays while devices over it are made, as the conformance test makes two.
std::unique_ptr<Devices> make_recorded() {
  static const RecordedMachine machine("mi300x_8");
  return std::make_unique<RocmDevices>(options_of(machine));
}
INSTANTIATE_TEST_SUITE_P(Rocm, DevicesConformance, testing::Values(&make_recorded));

TEST(RocmDevices, finds_eight_gpus_each_linked_with_every_other_by_xgmi) {
  const RecordedMachine machine("mi300x_8");
  RocmDevices devices(options_of(machine));
  const Inventory inventory = MUST(devices.fingerprint());
  ASSERT_EQ(inventory.devices.size(), 8U);
  std::string last;
  for (const Device& device : inventory.devices) {
    EXPECT_EQ(device.kind, "mi300x");
    EXPECT_EQ(device.vendor, "amd");
    EXPECT_EQ(device.memory, kMi300xMemory) << "of its memory bank; local_mem_size is 0";
    EXPECT_EQ(device.uuid.rfind("GPU-", 0), 0U) << device.uuid;
    EXPECT_EQ(device.numa_node, device.index < 4 ? 0 : 1);
    EXPECT_LT(last, device.pci_address) << "in PCI order";
    last = device.pci_address;
  }
  ASSERT_EQ(inventory.links.size(), 28U) << "8 x 7 / 2";
  for (const Link& link : inventory.links) EXPECT_EQ(link.kind, LinkKind::kXgmi);
}

TEST(RocmDevices, are_none_where_amd_has_no_driver) {
  for (const char* const name : {"laptop", "h100_ib", "intel_2"}) {
    const RecordedMachine machine(name);
    RocmDevices devices(options_of(machine));
    EXPECT_TRUE(MUST(devices.fingerprint()).devices.empty()) << name;
    EXPECT_TRUE(MUST(devices.stats()).empty()) << name;
  }
}

TEST(RocmDevices, shows_a_worker_its_gpus_by_uuid_and_lets_hip_count_them_from_zero) {
  const RecordedMachine machine("mi300x_8");
  RocmDevices devices(options_of(machine));
  const std::vector<Device> all = MUST(devices.fingerprint()).devices;
  const auto shown = MUST(devices.visibility({all[5].uuid, all[2].uuid}));
  EXPECT_EQ(shown.at("ROCR_VISIBLE_DEVICES"), all[2].uuid + "," + all[5].uuid);
  EXPECT_EQ(shown.at("HIP_VISIBLE_DEVICES"), "0,1");
}

TEST(RocmDevices, one_that_falls_off_the_bus_is_told_once) {
  RecordedMachine machine("mi300x_8");
  RocmDevices devices(options_of(machine));
  const std::vector<Device> all = MUST(devices.fingerprint()).devices;
  ASSERT_EQ(all.size(), 8U);
  EXPECT_TRUE(MUST(devices.faults()).empty());
  for (const std::string& file : machine.files()) {
    const bool identity = file.find("kfd/topology/nodes/") != std::string::npos &&
                          file.ends_with("/gpu_id");
    if (identity && machine.read(file) != "0\n") {
      machine.remove(file.substr(0, file.rfind('/')));
      break;
    }
  }
  const Inventory left = MUST(devices.fingerprint());
  EXPECT_EQ(left.devices.size(), 7U);
  const std::vector<DeviceFault> faults = MUST(devices.faults());
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, FaultKind::kLost);
  for (const Device& device : left.devices) EXPECT_NE(device.uuid, faults[0].uuid);
}

TEST(RocmDevices, torn_files_never_become_numbers) {
  expect_survives_torn_files("mi300x_8", [](const std::string& root) -> std::unique_ptr<Devices> {
    return std::make_unique<RocmDevices>(SysfsOptions{root, ""});
  });
}

}  // namespace
}  // namespace keiko
