#include "drivers/devices/tpu/tpu_devices.h"

#include <gtest/gtest.h>

#include "drivers/devices/tpu/tpu_names.h"
#include "drivers/sysfs/machine_fixture.h"
#include "drivers/sysfs/torn_files_conformance.h"
#include "ports/devices_conformance.h"

namespace keiko {
namespace {

/// Chip `index` of the recorded machine with vfio.
std::string chip(int index, int function = 0) {
  return "sys/devices/pci0000:00/0000:00:0" + std::to_string(5 + index) + "." +
         std::to_string(function);
}

/// A machine that a test may break, and the driver over it.
struct Fixture {
  RecordedMachine machine;
  TpuDevices driver;

  explicit Fixture(const std::string& name = "tpu_v5e_4")
      : machine(name), driver(SysfsOptions{machine.root(), ""}) {}

  std::vector<Device> devices() { return MUST(driver.fingerprint()).devices; }

  std::map<std::string, std::string> shown(const std::vector<size_t>& indices) {
    const std::vector<Device> all = devices();
    std::vector<std::string> uuids;
    for (const size_t index : indices) uuids.push_back(all.at(index).uuid);
    return MUST(driver.visibility(uuids));
  }

  /// Puts chip `index` into another group, as the kernel does after a boot.
  void move_to_group(int index, const std::string& group) {
    machine.add(chip(index) + "/iommu_group", "-> ../../../kernel/iommu_groups/" + group);
    machine.add("sys/kernel/iommu_groups/" + group, "/");
  }
};

std::unique_ptr<Devices> make_vfio() {
  static const RecordedMachine machine("tpu_v5e_4");
  return std::make_unique<TpuDevices>(SysfsOptions{machine.root(), ""});
}
std::unique_ptr<Devices> make_accel() {
  static const RecordedMachine machine("tpu_v4_4");
  return std::make_unique<TpuDevices>(SysfsOptions{machine.root(), ""});
}
INSTANTIATE_TEST_SUITE_P(Tpu, DevicesConformance, testing::Values(&make_vfio, &make_accel));

TEST(TpuDevices, are_the_chips_behind_vfio_and_not_the_vendors_network_card_or_disk) {
  Fixture fixture;
  const Inventory inventory = MUST(fixture.driver.fingerprint());
  ASSERT_EQ(inventory.devices.size(), 4U);
  for (const Device& device : inventory.devices) {
    EXPECT_EQ(device.kind, "tpu-v5e");
    EXPECT_EQ(device.product, "Google TPU v5e");
    EXPECT_EQ(device.vendor, "google");
    EXPECT_EQ(device.memory, gibibytes(16)) << "as published";
    EXPECT_EQ(device.numa_node, 0);
    EXPECT_EQ(device.files,
              (std::vector<std::string>{"/dev/vfio/" + std::to_string(device.index),
                                        "/dev/vfio/vfio"}));
  }
  EXPECT_EQ(inventory.devices[0].pci_address, "0000:00:05.0");
  ASSERT_EQ(inventory.links.size(), 6U);
  for (const Link& link : inventory.links) EXPECT_EQ(link.kind, LinkKind::kPcie);
}

TEST(TpuDevices, are_the_chips_behind_googles_own_driver) {
  Fixture fixture("tpu_v4_4");
  const std::vector<Device> all = fixture.devices();
  ASSERT_EQ(all.size(), 4U);
  for (const Device& device : all) {
    EXPECT_EQ(device.kind, "tpu-v4");
    EXPECT_EQ(device.memory, gibibytes(32));
    EXPECT_EQ(device.numa_node, device.index / 2);
    EXPECT_EQ(device.files, std::vector<std::string>{"/dev/accel" + std::to_string(device.index)});
  }
  EXPECT_EQ(fixture.shown({1, 3}).at("TPU_VISIBLE_CHIPS"), "1,3");
}

TEST(TpuDevices, are_none_where_there_is_no_chip) {
  for (const char* const name : {"laptop", "intel_2", "gaudi_8"}) {
    Fixture fixture(name);
    EXPECT_TRUE(fixture.devices().empty()) << name;
    EXPECT_TRUE(MUST(fixture.driver.stats()).empty()) << name;
  }
}

TEST(TpuDevices, shows_a_worker_a_part_of_the_chips_with_its_shape) {
  Fixture fixture;
  const auto one = fixture.shown({2});
  EXPECT_EQ(one.at("TPU_VISIBLE_CHIPS"), "2");
  EXPECT_EQ(one.at("TPU_VISIBLE_DEVICES"), "2");
  EXPECT_EQ(one.at("TPU_CHIPS_PER_PROCESS_BOUNDS"), "1,1,1");
  EXPECT_EQ(one.at("TPU_PROCESS_BOUNDS"), "1,1,1");
  EXPECT_EQ(fixture.shown({1, 0}).at("TPU_CHIPS_PER_PROCESS_BOUNDS"), "1,2,1");
  EXPECT_EQ(fixture.shown({0, 1, 2}).count("TPU_CHIPS_PER_PROCESS_BOUNDS"), 0U)
      << "three have no shape";
}

TEST(TpuDevices, leaves_the_shape_of_a_whole_machine_to_its_slice) {
  Fixture fixture;
  const auto all = fixture.shown({0, 1, 2, 3});
  EXPECT_EQ(all.at("TPU_VISIBLE_CHIPS"), "0,1,2,3");
  EXPECT_EQ(all.count("TPU_CHIPS_PER_PROCESS_BOUNDS") + all.count("TPU_PROCESS_BOUNDS"), 0U);
}

TEST(TpuDevices, hides_all_from_a_worker_without_any_by_a_number_that_no_chip_has) {
  Fixture fixture;
  EXPECT_EQ(fixture.shown({}).at("TPU_VISIBLE_CHIPS"), "-1") << "an empty list would show all";
}

TEST(TpuDevices, behind_vfio_are_counted_from_zero_in_the_order_of_their_groups) {
  Fixture fixture;
  fixture.move_to_group(0, "12");
  fixture.move_to_group(1, "7");
  fixture.move_to_group(2, "104");
  fixture.move_to_group(3, "9");
  EXPECT_EQ(fixture.devices()[2].files[0], "/dev/vfio/104");
  EXPECT_EQ(fixture.shown({0}).at("TPU_VISIBLE_CHIPS"), "2");
  EXPECT_EQ(fixture.shown({1}).at("TPU_VISIBLE_CHIPS"), "0");
  EXPECT_EQ(fixture.shown({2}).at("TPU_VISIBLE_CHIPS"), "3");
}

TEST(TpuDevices, are_one_chip_if_two_cores_show_as_two_functions) {
  Fixture fixture;
  RecordedMachine& machine = fixture.machine;
  for (int core = 0; core < 2; ++core) {
    const std::string folder = chip(4, core);
    const std::string address = folder.substr(folder.rfind('/') + 1);
    machine.add(folder + "/vendor", "0x1ae0");
    machine.add(folder + "/device", "0x0076");
    machine.add(folder + "/class", "0x120000");
    machine.add(folder + "/driver", "-> ../../../bus/pci/drivers/vfio-pci");
    machine.add(folder + "/iommu_group",
                "-> ../../../kernel/iommu_groups/" + std::to_string(4 + core));
    machine.add("sys/bus/pci/devices/" + address, "-> ../../../devices/pci0000:00/" + address);
  }
  const std::vector<Device> all = fixture.devices();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[4].kind, "tpu-v7x");
  EXPECT_EQ(all[4].memory, gibibytes(192));
  EXPECT_EQ(all[4].files,
            (std::vector<std::string>{"/dev/vfio/4", "/dev/vfio/5", "/dev/vfio/vfio"}));
}

TEST(TpuDevices, name_the_processes_that_have_a_chip_open_not_those_that_use_vfio_otherwise) {
  Fixture fixture;
  fixture.machine.add("proc/41/fd/3", "-> /dev/vfio/1");
  fixture.machine.add("proc/41/fd/4", "-> /dev/vfio/vfio");
  fixture.machine.add("proc/42/fd/4", "-> /dev/vfio/vfio");
  const std::vector<Device> all = fixture.devices();
  EXPECT_EQ(MUST(fixture.driver.processes(all[1].uuid)),
            (std::vector<DeviceProcess>{{41, std::nullopt}}));
  EXPECT_TRUE(MUST(fixture.driver.processes(all[0].uuid)).empty());
}

TEST(TpuDevices, one_that_is_gone_is_told_once) {
  Fixture fixture;
  const std::vector<Device> all = fixture.devices();
  fixture.machine.remove("sys/bus/pci/devices/0000:00:06.0");
  ASSERT_EQ(fixture.devices().size(), 3U);
  const std::vector<DeviceFault> faults = MUST(fixture.driver.faults());
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].uuid, all[1].uuid);
  EXPECT_EQ(faults[0].kind, FaultKind::kLost);
  EXPECT_TRUE(MUST(fixture.driver.faults()).empty());
}

TEST(TpuDevices, are_not_offered_while_no_driver_hands_them_out) {
  Fixture fixture;
  fixture.machine.remove(chip(0) + "/driver");
  fixture.machine.remove(chip(1) + "/iommu_group");
  EXPECT_EQ(fixture.devices().size(), 2U);
}

TEST(TpuDevices, stay_listed_with_a_plain_kind_if_their_id_is_unknown) {
  Fixture fixture;
  fixture.machine.write(chip(0) + "/device", "0x00ff\n");
  const std::vector<Device> all = fixture.devices();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].kind, "tpu");
  EXPECT_EQ(all[0].product, "");
  EXPECT_EQ(all[0].memory, Bytes{}) << "no published size of an unknown chip";
}

TEST(TpuDevices, torn_files_never_become_numbers) {
  for (const char* const name : {"tpu_v5e_4", "tpu_v4_4"}) {
    expect_survives_torn_files(name, [](const std::string& root) -> std::unique_ptr<Devices> {
      return std::make_unique<TpuDevices>(SysfsOptions{root, ""});
    });
  }
}

TEST(TpuProducts, of_one_id_are_told_apart_by_their_subsystem) {
  EXPECT_EQ(tpu_product(0x0027, 0x004e).kind, "tpu-v2");
  EXPECT_EQ(tpu_product(0x0027, 0x004f).memory, gibibytes(16));
  EXPECT_FALSE(tpu_product(0x0027, 0x0001).known());
  EXPECT_EQ(tpu_product(0x0062, 0).memory, gibibytes(95));
}

}  // namespace
}  // namespace keiko
