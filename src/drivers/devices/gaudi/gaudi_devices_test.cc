#include "drivers/devices/gaudi/gaudi_devices.h"

#include <gtest/gtest.h>

#include "drivers/devices/gaudi/gaudi_names.h"
#include "drivers/sysfs/machine_fixture.h"
#include "drivers/sysfs/torn_files_conformance.h"
#include "ports/devices_conformance.h"

namespace keiko {
namespace {

/// The first and the second chip of the recorded machine.
constexpr char kFirst[] = "sys/devices/pci0000:10/0000:10:02.0/0000:11:00.0";
constexpr char kSecond[] = "sys/devices/pci0000:18/0000:18:02.0/0000:19:00.0";

/// A machine that a test may break, and the driver over it.
struct Fixture {
  RecordedMachine machine;
  GaudiDevices driver;

  explicit Fixture(const std::string& name = "gaudi_8")
      : machine(name), driver(SysfsOptions{machine.root(), ""}) {}

  std::vector<Device> devices() { return MUST(driver.fingerprint()).devices; }
};

std::unique_ptr<Devices> make_recorded() {
  static const RecordedMachine machine("gaudi_8");
  return std::make_unique<GaudiDevices>(SysfsOptions{machine.root(), ""});
}
INSTANTIATE_TEST_SUITE_P(Gaudi, DevicesConformance, testing::Values(&make_recorded));

TEST(GaudiDevices, are_eight_chips_on_two_numa_nodes) {
  Fixture fixture;
  const Inventory inventory = MUST(fixture.driver.fingerprint());
  ASSERT_EQ(inventory.devices.size(), 8U);
  for (const Device& device : inventory.devices) {
    EXPECT_EQ(device.kind, "gaudi2");
    EXPECT_EQ(device.product, "Intel Gaudi 2");
    EXPECT_EQ(device.memory, gibibytes(96)) << "as published";
    EXPECT_EQ(device.numa_node, device.index < 4 ? 0 : 1);
    EXPECT_EQ(device.driver_version, "1.17.0-28a11ca");
    const std::string number = std::to_string(device.index);
    EXPECT_EQ(device.files, (std::vector<std::string>{"/dev/accel/accel" + number,
                                                      "/dev/accel/accel_controlD" + number}));
  }
  EXPECT_EQ(inventory.devices[0].pci_address, "0000:11:00.0");
  ASSERT_EQ(inventory.links.size(), 28U) << "8 x 7 / 2";
  for (const Link& link : inventory.links) {
    const bool one_socket = (link.first < 4) == (link.second < 4);
    EXPECT_EQ(link.kind, one_socket ? LinkKind::kNuma : LinkKind::kSystem)
        << "the kernel tells of no way but PCIe";
  }
}

TEST(GaudiDevices, are_none_where_there_is_no_chip) {
  for (const char* const name : {"laptop", "intel_2", "tpu_v5e_4"}) {
    Fixture fixture(name);
    EXPECT_TRUE(fixture.devices().empty()) << name;
    EXPECT_TRUE(MUST(fixture.driver.stats()).empty()) << name;
  }
}

TEST(GaudiDevices, shows_a_worker_its_chips_by_module_and_by_node) {
  Fixture fixture;
  const std::vector<Device> all = fixture.devices();
  const auto shown = MUST(fixture.driver.visibility({all[2].uuid, all[0].uuid}));
  EXPECT_EQ(shown.at("HABANA_VISIBLE_MODULES"), "5,7")
      << "of nodes 0 and 2, not 0 and 2 themselves";
  EXPECT_EQ(shown.at("HABANA_VISIBLE_DEVICES"), "0,2");
  const auto none = MUST(fixture.driver.visibility({}));
  EXPECT_EQ(none.at("HABANA_VISIBLE_MODULES"), "-1");
  EXPECT_EQ(none.at("HABANA_VISIBLE_DEVICES"), "none");
}

TEST(GaudiDevices, guesses_no_module_where_the_driver_tells_none) {
  Fixture fixture;
  fixture.machine.remove(std::string(kSecond) + "/module_id");
  const std::vector<Device> all = fixture.devices();
  const auto shown = MUST(fixture.driver.visibility({all[0].uuid}));
  EXPECT_EQ(shown.count("HABANA_VISIBLE_MODULES"), 0U);
  EXPECT_EQ(shown.at("HABANA_VISIBLE_DEVICES"), "0");
}

TEST(GaudiDevices, reads_what_the_kernel_documents_in_our_units) {
  Fixture fixture;
  const std::vector<DeviceStats> stats = MUST(fixture.driver.stats());
  ASSERT_EQ(stats.size(), 8U);
  EXPECT_EQ(stats[3].values, (std::map<std::string, double>{{"sm_clock_mhz", 1650},
                                                            {"power_limit_watts", 600},
                                                            {"hard_resets", 0},
                                                            {"temperature_celsius", 45},
                                                            {"power_watts", 100}}));
}

TEST(GaudiDevices, name_the_processes_that_compute_on_them_not_those_that_watch) {
  Fixture fixture;
  fixture.machine.add("proc/41/fd/3", "-> /dev/accel/accel2");
  fixture.machine.add("proc/42/fd/5", "-> /dev/accel/accel_controlD2");
  const std::vector<Device> all = fixture.devices();
  EXPECT_EQ(MUST(fixture.driver.processes(all[2].uuid)),
            (std::vector<DeviceProcess>{{41, std::nullopt}}));
  EXPECT_TRUE(MUST(fixture.driver.processes(all[3].uuid)).empty());
}

TEST(GaudiDevices, one_that_falls_off_the_bus_is_told_once) {
  Fixture fixture;
  const std::vector<Device> all = fixture.devices();
  fixture.machine.remove(kFirst);
  ASSERT_EQ(fixture.devices().size(), 7U);
  const std::vector<DeviceFault> faults = MUST(fixture.driver.faults());
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].uuid, all[0].uuid);
  EXPECT_NE(faults[0].text.find("gaudi2 at 0000:11:00.0"), std::string::npos) << faults[0].text;
  EXPECT_TRUE(MUST(fixture.driver.faults()).empty());
  EXPECT_EQ(MUST(fixture.driver.visibility({all[7].uuid})).at("HABANA_VISIBLE_DEVICES"), "7")
      << "the others keep their names";
}

TEST(GaudiDevices, one_that_its_driver_has_given_up_is_told_once_for_each_time) {
  Fixture fixture;
  const std::string status = std::string(kFirst) + "/status";
  const std::vector<Device> all = fixture.devices();
  for (const char* const broken : {"Needs reset", "Disabled", "Malfunction"}) {
    fixture.machine.write(status, std::string(broken) + "\n");
    const std::vector<DeviceFault> faults = MUST(fixture.driver.faults());
    ASSERT_EQ(faults.size(), 1U) << broken;
    EXPECT_EQ(faults[0].uuid, all[0].uuid);
    EXPECT_EQ(faults[0].kind, FaultKind::kLost);
    EXPECT_NE(faults[0].text.find("hard_reset"), std::string::npos) << "what to do about it";
    EXPECT_TRUE(MUST(fixture.driver.faults()).empty()) << broken;
    fixture.machine.write(status, "In reset\n");
    EXPECT_TRUE(MUST(fixture.driver.faults()).empty()) << "it will be back by itself";
  }
}

TEST(GaudiDevices, are_found_in_the_class_of_older_kernels_by_their_address) {
  Fixture fixture;
  fixture.machine.remove(std::string(kSecond) + "/accel");
  fixture.machine.add("sys/class/habanalabs/hl3/pci_addr", "0000:19:00.0");
  fixture.machine.add("sys/class/habanalabs/hl3/device_type", "GAUDI");
  fixture.machine.add("sys/class/habanalabs/hl_controlD3/pci_addr", "0000:19:00.0");
  const std::vector<Device> all = fixture.devices();
  ASSERT_EQ(all.size(), 8U);
  EXPECT_EQ(all[1].kind, "gaudi");
  EXPECT_EQ(all[1].memory, gibibytes(32));
  EXPECT_EQ(all[1].files, (std::vector<std::string>{"/dev/hl3", "/dev/hl_controlD3"}));
}

TEST(GaudiDevices, are_not_offered_without_a_node_to_open) {
  Fixture fixture;
  fixture.machine.remove(std::string(kSecond) + "/accel");
  EXPECT_EQ(fixture.devices().size(), 7U);
}

TEST(GaudiDevices, stay_listed_with_a_plain_kind_if_nobody_knows_them) {
  Fixture fixture;
  fixture.machine.write(std::string(kFirst) + "/device_type", "GAUDI9\n");
  EXPECT_EQ(fixture.devices()[0].kind, "gaudi2") << "by its id on the bus";
  fixture.machine.write(std::string(kFirst) + "/device", "0x2000\n");
  const std::vector<Device> all = fixture.devices();
  ASSERT_EQ(all.size(), 8U);
  EXPECT_EQ(all[0].kind, "gaudi");
  EXPECT_EQ(all[0].product, "");
  EXPECT_EQ(all[0].memory, Bytes{}) << "no published size of an unknown chip";
}

TEST(GaudiDevices, torn_files_never_become_numbers) {
  expect_survives_torn_files("gaudi_8", [](const std::string& root) -> std::unique_ptr<Devices> {
    return std::make_unique<GaudiDevices>(SysfsOptions{root, ""});
  });
}

TEST(GaudiProducts, are_known_by_the_drivers_name_first) {
  EXPECT_EQ(gaudi_product("GAUDI3", 0x1060).memory, gibibytes(128));
  EXPECT_EQ(gaudi_product("GAUDI2B", 0x1020).kind, "gaudi2");
  EXPECT_EQ(gaudi_product("GAUDI2D", 0x1020).kind, "gaudi2d");
  EXPECT_EQ(gaudi_product("", 0x1063).kind, "gaudi3");
  EXPECT_EQ(gaudi_product("", -1).kind, "gaudi");
}

}  // namespace
}  // namespace keiko
