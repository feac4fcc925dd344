#include "drivers/devices/intel/intel_devices.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/devices/intel/intel_names.h"
#include "drivers/sysfs/machine_fixture.h"
#include "drivers/sysfs/torn_files_conformance.h"
#include "ports/devices_conformance.h"

namespace keiko {
namespace {

constexpr char kMax[] =
    "sys/devices/pci0000:4a/0000:4a:02.0/0000:4b:00.0/0000:4c:01.0/0000:4d:00.0";
constexpr char kFlex[] =
    "sys/devices/pci0000:59/0000:59:02.0/0000:5a:00.0/0000:5b:01.0/0000:5c:00.0";
/// What the recorded Flex 170 tells: 256 MiB less than the 16 GiB it is sold with.
constexpr Bytes kFlexMemory{int64_t{16'128} << 20};

/// A machine that a test may break, and the driver over it.
struct Fixture {
  RecordedMachine machine;
  IntelDevices driver;

  explicit Fixture(const std::string& name = "intel_2")
      : machine(name), driver(SysfsOptions{machine.root(), ""}) {}

  std::vector<Device> devices() { return MUST(driver.fingerprint()).devices; }
};

std::unique_ptr<Devices> make_recorded() {
  static const RecordedMachine machine("intel_2");
  return std::make_unique<IntelDevices>(SysfsOptions{machine.root(), ""});
}
INSTANTIATE_TEST_SUITE_P(Intel, DevicesConformance, testing::Values(&make_recorded));

TEST(IntelDevices, are_the_discrete_gpus_under_either_kernel_driver) {
  Fixture fixture;
  const Inventory inventory = MUST(fixture.driver.fingerprint());
  ASSERT_EQ(inventory.devices.size(), 2U) << "the GPU of the processor is none of the pool's";
  const Device& max = inventory.devices[0];
  EXPECT_EQ(max.kind, "max1550");
  EXPECT_EQ(max.product, "Intel Data Center GPU Max 1550");
  EXPECT_EQ(max.vendor, "intel");
  EXPECT_EQ(max.architecture, "xe-hpc");
  EXPECT_EQ(max.pci_address, "0000:4d:00.0");
  EXPECT_EQ(max.memory, gibibytes(128)) << "two tiles of 64 GiB";
  EXPECT_EQ(max.files, std::vector<std::string>{"/dev/dri/renderD129"});
  EXPECT_EQ(max.host_megabytes_per_s, 31'504) << "16 lanes of the fourth generation";
  const Device& flex = inventory.devices[1];
  EXPECT_EQ(flex.kind, "flex170");
  EXPECT_EQ(flex.memory, kFlexMemory);
  EXPECT_EQ(flex.files, std::vector<std::string>{"/dev/dri/renderD130"});
  ASSERT_EQ(inventory.links.size(), 1U);
  EXPECT_EQ(inventory.links[0].kind, LinkKind::kNuma) << "two host bridges of one NUMA node";
  EXPECT_EQ(inventory.links[0].megabytes_per_s, 31'504);
}

TEST(IntelDevices, are_none_on_a_laptop_and_beside_other_vendors) {
  for (const char* const name : {"laptop", "gaudi_8", "tpu_v5e_4"}) {
    Fixture fixture(name);
    EXPECT_TRUE(fixture.devices().empty()) << name;
    EXPECT_TRUE(MUST(fixture.driver.stats()).empty()) << name;
    EXPECT_TRUE(MUST(fixture.driver.faults()).empty()) << name;
  }
}

TEST(IntelDevices, shows_a_worker_its_gpus_as_level_zero_counts_them) {
  Fixture fixture;
  const std::vector<Device> all = fixture.devices();
  const auto flex = MUST(fixture.driver.visibility({all[1].uuid}));
  EXPECT_EQ(flex.at("ZE_AFFINITY_MASK"), "2") << "behind the processor's GPU and the other one";
  EXPECT_EQ(flex.at("ZE_ENABLE_PCI_ID_DEVICE_ORDER"), "1");
  EXPECT_EQ(flex.at("ZE_FLAT_DEVICE_HIERARCHY"), "COMPOSITE") << "a number is a GPU, not a tile";
  EXPECT_EQ(flex.at("ONEAPI_DEVICE_SELECTOR"), "level_zero:gpu");
  EXPECT_EQ(MUST(fixture.driver.visibility({all[1].uuid, all[0].uuid})).at("ZE_AFFINITY_MASK"),
            "1,2");
}

TEST(IntelDevices, hides_all_from_a_worker_without_any_by_a_number_that_no_gpu_has) {
  Fixture fixture;
  const auto none = MUST(fixture.driver.visibility({}));
  EXPECT_EQ(none.at("ZE_AFFINITY_MASK"), "9999") << "an empty mask would show all of them";
  EXPECT_EQ(none.at("ONEAPI_DEVICE_SELECTOR"), "!*:gpu");
}

TEST(IntelDevices, reads_what_the_kernel_documents_in_our_units) {
  Fixture fixture;
  const std::vector<DeviceStats> stats = MUST(fixture.driver.stats());
  ASSERT_EQ(stats.size(), 2U);
  EXPECT_EQ(stats[0].values, (std::map<std::string, double>{{"memory_total_bytes", 137438953472.0},
                                                            {"sm_clock_mhz", 1600},
                                                            {"energy_joules", 123},
                                                            {"power_limit_watts", 600},
                                                            {"temperature_celsius", 48},
                                                            {"memory_temperature_celsius", 52}}));
  EXPECT_EQ(stats[1].values, (std::map<std::string, double>{{"memory_total_bytes", 16911433728.0},
                                                            {"sm_clock_mhz", 2050},
                                                            {"energy_joules", 456},
                                                            {"power_limit_watts", 150}}));
}

TEST(IntelDevices, a_limit_of_zero_is_no_limit) {
  Fixture fixture;
  for (const std::string& file : fixture.machine.files()) {
    if (file.ends_with("/power1_max")) fixture.machine.write(file, "0\n");
  }
  for (const DeviceStats& stats : MUST(fixture.driver.stats())) {
    EXPECT_EQ(stats.values.count("power_limit_watts"), 0U);
  }
}

TEST(IntelDevices, have_the_published_memory_where_the_kernel_tells_none) {
  Fixture fixture;
  fixture.machine.remove(std::string(kFlex) + "/drm/card2/lmem_total_bytes");
  EXPECT_EQ(fixture.devices()[1].memory, gibibytes(16));
  EXPECT_EQ(MUST(fixture.driver.stats())[1].values.count("memory_total_bytes"), 0U)
      << "a reading is what was read";
  fixture.machine.write(std::string(kMax) + "/tile1/physical_vram_size_bytes", "\n");
  EXPECT_EQ(fixture.devices()[0].memory, gibibytes(128)) << "never that of one tile of two";
  fixture.machine.write(std::string(kMax) + "/device", "0x56a0\n");
  EXPECT_EQ(fixture.devices()[0].kind, "arc-a770");
  EXPECT_EQ(fixture.devices()[0].memory, Bytes{}) << "sold with 8 and with 16 GB";
}

TEST(IntelDevices, stay_listed_with_a_plain_kind_if_their_id_is_unknown) {
  Fixture fixture;
  fixture.machine.write(std::string(kMax) + "/device", "0xbeef\n");
  const std::vector<Device> all = fixture.devices();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].kind, "intel-gpu");
  EXPECT_EQ(all[0].product, "");
  EXPECT_EQ(all[0].memory, gibibytes(128)) << "the kernel tells that of any GPU";
}

TEST(IntelDevices, on_the_root_bus_of_a_virtual_machine_count_if_they_have_memory_of_their_own) {
  Fixture fixture("laptop");
  const std::string gpu = "sys/devices/pci0000:00/0000:00:02.0";
  fixture.machine.add(gpu + "/drm/renderD128", "/");
  EXPECT_TRUE(fixture.devices().empty());
  fixture.machine.add(gpu + "/drm/card0/lmem_total_bytes", "17179869184");
  ASSERT_EQ(fixture.devices().size(), 1U);
  EXPECT_EQ(fixture.devices()[0].memory, gibibytes(16));
}

TEST(IntelDevices, name_the_processes_that_have_a_node_of_theirs_open) {
  Fixture fixture;
  fixture.machine.add("proc/41/fd/3", "-> /dev/dri/renderD129");
  fixture.machine.add("proc/42/fd/5", "-> /dev/dri/card1");
  fixture.machine.add("proc/43/fd/0", "-> /dev/dri/renderD130");
  fixture.machine.add("proc/44/fd/0", "-> /dev/dri/renderD128");
  const std::vector<Device> all = fixture.devices();
  EXPECT_EQ(MUST(fixture.driver.processes(all[0].uuid)),
            (std::vector<DeviceProcess>{{41, std::nullopt}, {42, std::nullopt}}));
  EXPECT_EQ(MUST(fixture.driver.processes(all[1].uuid)),
            (std::vector<DeviceProcess>{{43, std::nullopt}}));
}

TEST(IntelDevices, one_that_falls_off_the_bus_is_told_once_for_each_absence) {
  Fixture fixture;
  const std::vector<Device> all = fixture.devices();
  const std::string link = "sys/bus/pci/devices/0000:5c:00.0";
  for (int absence = 0; absence < 2; ++absence) {
    fixture.machine.remove(link);
    ASSERT_EQ(fixture.devices().size(), 1U);
    EXPECT_EQ(fixture.devices()[0].uuid, all[0].uuid);
    EXPECT_EQ(fixture.driver.visibility({all[1].uuid}).error().code, Code::kNotFound);
    const std::vector<DeviceFault> faults = MUST(fixture.driver.faults());
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_EQ(faults[0].uuid, all[1].uuid);
    EXPECT_EQ(faults[0].kind, FaultKind::kLost);
    EXPECT_NE(faults[0].text.find("flex170 at 0000:5c:00.0"), std::string::npos) << faults[0].text;
    EXPECT_TRUE(MUST(fixture.driver.faults()).empty());
    fixture.machine.add(link, std::string("-> ../../../../") + kFlex);
    EXPECT_EQ(fixture.devices(), all) << "it came back as the same device";
  }
}

TEST(IntelDevices, one_whose_driver_let_go_is_lost_too) {
  Fixture fixture;
  ASSERT_EQ(fixture.devices().size(), 2U);
  fixture.machine.remove(std::string(kMax) + "/drm");
  EXPECT_EQ(fixture.devices().size(), 1U);
  EXPECT_EQ(MUST(fixture.driver.faults()).size(), 1U);
}

TEST(IntelDevices, whose_files_may_not_be_read_stay_listed_without_what_these_tell) {
  Fixture fixture;
  for (const std::string& file : fixture.machine.files()) {
    const bool memory = file.ends_with("vram_size_bytes") || file.ends_with("lmem_total_bytes");
    if (!memory && file.find("/hwmon/") == std::string::npos) continue;
    const std::string full = fixture.machine.root() + "/" + file;
    ASSERT_EQ(chmod(full.c_str(), 0), 0);
    if (geteuid() != 0) continue;
    fixture.machine.remove(file);  // root may read every file, but no folder as one
    fixture.machine.add(file, "/");
  }
  ASSERT_EQ(fixture.devices().size(), 2U);
  for (const DeviceStats& stats : MUST(fixture.driver.stats())) {
    EXPECT_EQ(stats.values.count("energy_joules") + stats.values.count("memory_total_bytes"), 0U);
  }
}

TEST(IntelDevices, torn_files_never_become_numbers) {
  expect_survives_torn_files("intel_2", [](const std::string& root) -> std::unique_ptr<Devices> {
    return std::make_unique<IntelDevices>(SysfsOptions{root, ""});
  });
}

TEST(IntelDevices, of_two_machines_have_different_uuids) {
  const RecordedMachine machine("intel_2");
  const auto uuid = [&](const char* instance) {
    IntelDevices driver(SysfsOptions{machine.root(), instance});
    return MUST(driver.fingerprint()).devices[0].uuid;
  };
  EXPECT_EQ(uuid("n1"), uuid("n1"));
  EXPECT_NE(uuid("n1"), uuid("n2")) << "the bus gives equal addresses to both";
}

TEST(IntelProducts, are_known_by_their_ids) {
  EXPECT_EQ(intel_product(0x0bda).kind, "max1100");
  EXPECT_EQ(intel_product(0x0bda).memory, gibibytes(48));
  EXPECT_EQ(intel_product(0xe20b).architecture, "xe2-hpg");
  EXPECT_FALSE(intel_product(0xa780).known()) << "the GPU of a processor";
  EXPECT_FALSE(intel_product(-1).known());
}

}  // namespace
}  // namespace keiko
