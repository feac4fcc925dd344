#include "drivers/devices/nvml/nvml_devices.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "drivers/devices/nvml/nvml_fixture.h"
#include "ports/devices_conformance.h"

namespace keiko {
namespace {

/// The machine stays while devices over it are made, as the conformance test makes two.
template <int shape>
std::unique_ptr<Devices> make_of_shape() {
  static constexpr const char* kShapes[] = {"h100x8_nvswitch", "a100x4_pcie",
                                            "rtx4090x2_workstation", "a100_mig"};
  static const FakeNvml machine(kShapes[shape]);
  CHECK(setenv("KEIKO_FAKE_NVML", machine.path().c_str(), 1) == 0);
  return std::make_unique<NvmlDevices>(machine.options());
}
INSTANTIATE_TEST_SUITE_P(Nvswitch, DevicesConformance, testing::Values(&make_of_shape<0>));
INSTANTIATE_TEST_SUITE_P(Pcie, DevicesConformance, testing::Values(&make_of_shape<1>));
INSTANTIATE_TEST_SUITE_P(Workstation, DevicesConformance, testing::Values(&make_of_shape<2>));
INSTANTIATE_TEST_SUITE_P(Mig, DevicesConformance, testing::Values(&make_of_shape<3>));

std::unique_ptr<Devices> make_bare() {
  static const FakeNvml machine("a100x4_pcie");
  CHECK(setenv("KEIKO_FAKE_NVML", machine.path().c_str(), 1) == 0);
  NvmlDevicesOptions options = machine.options();
  options.library = std::string(KEIKO_FAKE_NVML_BUILD) + "/fake_nvml_bare/libnvidia-ml.so.1";
  return std::make_unique<NvmlDevices>(options);
}
INSTANTIATE_TEST_SUITE_P(BareLibrary, DevicesConformance, testing::Values(&make_bare));

std::vector<std::string> addresses(const Inventory& inventory) {
  std::vector<std::string> all;
  for (const Device& device : inventory.devices) all.push_back(device.pci_address);
  return all;
}

// Complaint 15: the driver's reserve is counted as memory of jobs.
TEST(NvmlDevices, knows_an_nvswitch_node) {
  FakeNvml machine("h100x8_nvswitch");
  machine.file("sys/bus/pci/devices/0000:9d:00.0/numa_node", "1\n");
  NvmlDevices devices(machine.options());
  const Inventory inventory = MUST(devices.fingerprint());
  ASSERT_EQ(inventory.devices.size(), 8u);
  const Device& fifth = inventory.devices[4];
  EXPECT_EQ(fifth.kind, "h100");
  EXPECT_EQ(fifth.vendor, "nvidia");
  EXPECT_EQ(fifth.product, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(fifth.architecture, "hopper");
  EXPECT_EQ(fifth.driver_version, "550.54.15");
  EXPECT_EQ(fifth.pci_address, "0000:9d:00.0");
  EXPECT_EQ(fifth.numa_node, 1);
  EXPECT_EQ(fifth.memory, mebibytes(81559 - 551)) << "the driver's reserve is nobody's";
  EXPECT_EQ(fifth.host_megabytes_per_s, 16 * 3938);
  EXPECT_EQ(fifth.files, (std::vector<std::string>{"/dev/nvidiactl", "/dev/nvidia-uvm",
                                                   "/dev/nvidia4"}));
  ASSERT_EQ(inventory.links.size(), 28u) << "through the switch each reaches each";
  for (const Link& link : inventory.links) {
    EXPECT_EQ(link.kind, LinkKind::kNvlink);
    EXPECT_EQ(link.megabytes_per_s, 18 * 26'562);
    EXPECT_EQ(link.healthy_megabytes_per_s, 18 * 26'562);
  }
}

TEST(NvmlDevices, shows_nvlinks_that_are_down_as_less_than_healthy) {
  FakeNvml machine("h100x8_nvswitch");
  machine.set("/gpus/2/nvlinks",
              R"([{"to": "switch", "count": 12}, {"to": "switch", "count": 6, "active": false}])");
  NvmlDevices devices(machine.options());
  for (const Link& link : MUST(devices.fingerprint()).links) {
    const bool of_sick = link.first == 2 || link.second == 2;
    EXPECT_EQ(link.megabytes_per_s, (of_sick ? 12 : 18) * 26'562);
    EXPECT_EQ(link.healthy_megabytes_per_s, 18 * 26'562);
  }
}

TEST(NvmlDevices, promises_no_nvlink_while_the_fabric_is_down) {
  FakeNvml machine("h100x8_nvswitch");
  machine.set("/fabric_up", "false");
  NvmlDevices devices(machine.options());
  const Inventory inventory = MUST(devices.fingerprint());
  ASSERT_EQ(inventory.links.size(), 28u);
  for (const Link& link : inventory.links) {
    const bool one_socket = link.first / 4 == link.second / 4;
    EXPECT_EQ(link.kind, one_socket ? LinkKind::kNuma : LinkKind::kSystem);
  }
}

TEST(NvmlDevices, knows_pcie_pairs_behind_a_switch) {
  FakeNvml machine("a100x4_pcie");
  NvmlDevices devices(machine.options());
  const Inventory inventory = MUST(devices.fingerprint());
  EXPECT_EQ(inventory.devices[0].kind, "a100");
  ASSERT_EQ(inventory.links.size(), 6u);
  for (const Link& link : inventory.links) {
    const bool one_switch = link.first / 2 == link.second / 2;
    EXPECT_EQ(link.kind, one_switch ? LinkKind::kPcie : LinkKind::kSystem);
    EXPECT_EQ(link.megabytes_per_s, 16 * 1969);
  }
}

TEST(NvmlDevices, finds_the_way_between_gpus_in_sysfs_if_the_library_does_not_tell) {
  FakeNvml machine("a100x4_pcie");
  machine.set("/answers/nvmlDeviceGetTopologyCommonAncestor", "3");
  const char* const kPaths[] = {"pci0000:16/0000:16:02.0/0000:17:00.0",
                                "pci0000:16/0000:16:03.0/0000:1a:00.0",
                                "pci0000:b0/0000:b0:02.0/0000:b1:00.0",
                                "pci0000:b3/0000:b3:02.0/0000:b4:00.0"};
  int place = 0;
  for (const std::string path : kPaths) {
    const std::string address = path.substr(path.rfind('/') + 1);
    machine.file("sys/devices/" + path + "/numa_node", place++ < 2 ? "0\n" : "1\n");
    std::filesystem::create_directories(machine.folder() + "/sys/bus/pci/devices");
    std::filesystem::create_symlink(machine.folder() + "/sys/devices/" + path,
                                    machine.folder() + "/sys/bus/pci/devices/" + address);
  }
  NvmlDevices devices(machine.options());
  std::map<std::pair<int, int>, LinkKind> kinds;
  for (const Link& link : MUST(devices.fingerprint()).links) {
    kinds[{link.first, link.second}] = link.kind;
  }
  EXPECT_EQ((kinds[{0, 1}]), LinkKind::kPcie) << "one host bridge";
  EXPECT_EQ((kinds[{2, 3}]), LinkKind::kNuma) << "two host bridges of one socket";
  EXPECT_EQ((kinds[{1, 2}]), LinkKind::kSystem);
}

TEST(NvmlDevices, knows_a_workstation_without_nvlink_and_a_card_on_half_its_lanes) {
  FakeNvml machine("rtx4090x2_workstation");
  NvmlDevices devices(machine.options());
  const Inventory inventory = MUST(devices.fingerprint());
  ASSERT_EQ(inventory.devices.size(), 2u);
  EXPECT_EQ(inventory.devices[0].kind, "rtx4090");
  ASSERT_EQ(inventory.links.size(), 1u);
  EXPECT_EQ(inventory.links[0].kind, LinkKind::kPcie);
  EXPECT_EQ(inventory.links[0].megabytes_per_s, 8 * 1969) << "an idle card's generation is no loss";
  EXPECT_EQ(inventory.links[0].healthy_megabytes_per_s, 16 * 1969);
}

// Complaint 16: MIG slices are not seen.
TEST(NvmlDevices, offers_the_slices_of_a_split_gpu_in_place_of_it) {
  FakeNvml machine("a100_mig");
  const std::string capabilities = "proc/driver/nvidia/capabilities/gpu0/mig/gi3/";
  machine.file(capabilities + "access", "DeviceFileMinor: 30\nDeviceFileMode: 292\n");
  machine.file(capabilities + "ci0/access", "DeviceFileMinor: 31\nDeviceFileMode: 292\n");
  NvmlDevices devices(machine.options());
  const Inventory inventory = MUST(devices.fingerprint());
  ASSERT_EQ(inventory.devices.size(), 4u);
  const Device& whole = inventory.devices[3];
  const Device& slice = inventory.devices[1];
  EXPECT_EQ(whole.kind, "a100");
  EXPECT_EQ(whole.parent_uuid, "");
  EXPECT_EQ(slice.uuid.substr(0, 4), "MIG-");
  EXPECT_EQ(slice.parent_uuid.substr(0, 12), "GPU-a1510000");
  EXPECT_EQ(slice.mig_profile, "2g.10gb");
  EXPECT_EQ(slice.kind, "a100-2g.10gb") << "who asks for an a100 does not get a part of one";
  EXPECT_EQ(slice.memory, mebibytes(9856));
  EXPECT_EQ(slice.pci_address, "0000:07:00.0");
  EXPECT_EQ(slice.files,
            (std::vector<std::string>{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0",
                                      "/dev/nvidia-caps/nvidia-cap30",
                                      "/dev/nvidia-caps/nvidia-cap31"}));
  for (const Link& link : inventory.links) {
    EXPECT_EQ(link.kind, LinkKind::kPcie) << "CUDA gives slices no peer access";
  }
}

TEST(NvmlDevices, works_profiles_out_if_the_driver_is_too_old_to_name_them) {
  FakeNvml machine("a100_mig");
  for (int i = 0; i < 3; ++i) {
    machine.remove("/gpus/0/mig/slices/" + std::to_string(i) + "/profile");
  }
  NvmlDevices devices(machine.options());
  std::vector<std::string> profiles;
  for (const Device& device : MUST(devices.fingerprint()).devices) {
    profiles.push_back(device.mig_profile);
  }
  EXPECT_EQ(profiles, (std::vector<std::string>{"3g.20gb", "2g.10gb", "1g.5gb", ""}));
}

TEST(NvmlDevices, links_two_gpus_by_the_lanes_between_them) {
  FakeNvml machine("a100_mig");
  machine.set("/gpus/0/mig", R"({"enabled": false})");
  NvmlDevices devices(machine.options());
  const Inventory inventory = MUST(devices.fingerprint());
  ASSERT_EQ(inventory.links.size(), 1u);
  EXPECT_EQ(inventory.links[0].kind, LinkKind::kNvlink);
  EXPECT_EQ(inventory.links[0].megabytes_per_s, 12 * 25'000);
}

TEST(NvmlDevices, takes_no_processor_s_port_for_a_switch) {
  FakeNvml machine("a100_mig");
  machine.set("/gpus/0/mig", R"({"enabled": false})");
  machine.set("/gpus/0/nvlinks", R"([{"to": "cpu", "count": 3}])");
  machine.set("/gpus/1/nvlinks", R"([{"to": "cpu", "count": 3}])");
  machine.set("/answers/nvmlDeviceGetP2PStatus", "3");
  NvmlDevices devices(machine.options());
  EXPECT_EQ(MUST(devices.fingerprint()).links.at(0).kind, LinkKind::kPcie);
}

TEST(NvmlDevices, counts_in_pci_order_whatever_the_library_s_order) {
  FakeNvml machine("a100x4_pcie");
  machine.set("/gpus/0/pci", R"("0000:c1:00.0")");
  NvmlDevices devices(machine.options());
  EXPECT_EQ(addresses(MUST(devices.fingerprint())),
            (std::vector<std::string>{"0000:1a:00.0", "0000:b1:00.0", "0000:b4:00.0",
                                      "0000:c1:00.0"}));
}

// Complaint 18: visible devices unsorted, or by indexes that mean something else.
TEST(NvmlDevices, makes_devices_visible_to_cuda_by_uuid_in_pci_order) {
  FakeNvml machine("a100x4_pcie");
  NvmlDevices devices(machine.options());
  const Inventory inventory = MUST(devices.fingerprint());
  const std::string& second = inventory.devices[1].uuid;
  const std::string& last = inventory.devices[3].uuid;
  const auto environment = MUST(devices.visibility({last, second}));
  EXPECT_EQ(environment.at("CUDA_VISIBLE_DEVICES"), second + "," + last);
  EXPECT_EQ(environment.at("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_EQ(MUST(devices.visibility({})).at("CUDA_VISIBLE_DEVICES"), "");
}

TEST(NvmlDevices, makes_a_slice_visible_by_its_own_uuid) {
  FakeNvml machine("a100_mig");
  NvmlDevices devices(machine.options());
  const std::string slice = MUST(devices.fingerprint()).devices[2].uuid;
  EXPECT_EQ(MUST(devices.visibility({slice})).at("CUDA_VISIBLE_DEVICES"), slice);
}

TEST(NvmlDevices, names_the_processes_of_a_gpu_whatever_they_use_it_for) {
  FakeNvml machine("rtx4090x2_workstation");
  machine.set("/gpus/0/processes/-", R"({"pid": 88, "memory_mib": 2048})");
  machine.set("/gpus/0/processes/-", R"({"pid": 88, "memory_mib": 100, "kind": "graphics"})");
  machine.set("/gpus/0/processes/-", R"({"pid": 99, "kind": "mps"})");
  NvmlDevices devices(machine.options());
  const Inventory inventory = MUST(devices.fingerprint());
  const std::vector<DeviceProcess> all{{88, mebibytes(2048)}, {99, {}}, {1523, mebibytes(12)}};
  EXPECT_EQ(MUST(devices.processes(inventory.devices[0].uuid)), all);
  EXPECT_TRUE(MUST(devices.processes(inventory.devices[1].uuid)).empty());
}

/// RETURNS: how busy each of the processes is, by pid, -1 where nobody tells.
std::map<int64_t, double> busy_of(NvmlDevices& devices, const std::string& uuid) {
  std::map<int64_t, double> busy;
  for (const DeviceProcess& process : MUST(devices.processes(uuid))) {
    busy[process.pid] = process.busy.value_or(-1);
  }
  return busy;
}

TEST(NvmlDevices, tells_how_busy_each_process_was_since_it_last_looked) {
  FakeNvml machine("h100x8_nvswitch");
  machine.set("/gpus/5/processes", R"([{"pid": 41, "memory_mib": 7, "sm": 85}, {"pid": 42}])");
  NvmlDevices devices(machine.options());
  const std::string uuid = MUST(devices.fingerprint()).devices[5].uuid;
  using Busy = std::map<int64_t, double>;
  EXPECT_EQ(busy_of(devices, uuid), (Busy{{41, -1}, {42, -1}})) << "of whenever";
  EXPECT_EQ(busy_of(devices, uuid), (Busy{{41, 0.85}, {42, 0}}));
  machine.set("/gpus/5/processes/0/sm", "0");
  EXPECT_EQ(busy_of(devices, uuid), (Busy{{41, 0}, {42, 0}}));
  machine.set("/answers/nvmlDeviceGetProcessUtilization", "3");
  EXPECT_EQ(busy_of(devices, uuid), (Busy{{41, -1}, {42, -1}})) << "it cannot tell";
}

TEST(NvmlDevices, takes_no_nonsense_for_how_busy_a_process_is) {
  FakeNvml machine("h100x8_nvswitch");
  machine.set("/gpus/0/processes", R"([{"pid": 41, "sm": 50}])");
  NvmlDevices devices(machine.options());
  const std::string uuid = MUST(devices.fingerprint()).devices[0].uuid;
  EXPECT_EQ(busy_of(devices, uuid).at(41), -1);
  machine.set("/gpus/0/garbage", "true");
  EXPECT_EQ(busy_of(devices, uuid).at(41), -1);
}

TEST(NvmlDevices, sees_an_orphan_come_and_go) {
  FakeNvml machine("h100x8_nvswitch");
  NvmlDevices devices(machine.options());
  const std::string uuid = MUST(devices.fingerprint()).devices[5].uuid;
  EXPECT_TRUE(MUST(devices.processes(uuid)).empty());
  machine.set("/gpus/5/processes", R"([{"pid": 4711, "memory_mib": 70000}])");
  EXPECT_EQ(MUST(devices.processes(uuid)).at(0).pid, 4711);
  machine.set("/gpus/5/processes", "[]");
  EXPECT_TRUE(MUST(devices.processes(uuid)).empty());
}

TEST(NvmlDevices, reads_a_long_process_table_whole) {
  FakeNvml machine("h100x8_nvswitch");
  std::string table;
  for (int pid = 1000; pid < 1300; ++pid) {
    table += std::string(table.empty() ? "" : ",") + "{\"pid\": " + std::to_string(pid) + "}";
  }
  machine.set("/gpus/0/processes", "[" + table + "]");
  NvmlDevices devices(machine.options());
  const std::string uuid = MUST(devices.fingerprint()).devices[0].uuid;
  EXPECT_EQ(MUST(devices.processes(uuid)).size(), 300u);
}

TEST(NvmlDevices, gives_a_slice_only_its_own_processes) {
  FakeNvml machine("a100_mig");
  machine.set("/gpus/0/mig/slices/1/processes",
              R"([{"pid": 7, "memory_mib": 64}, {"pid": 8, "gi": 9, "memory_mib": 64}])");
  NvmlDevices devices(machine.options());
  const std::string slice = MUST(devices.fingerprint()).devices[1].uuid;
  const std::vector<DeviceProcess> own{{7, mebibytes(64)}};
  EXPECT_EQ(MUST(devices.processes(slice)), own);
}

TEST(NvmlDevices, says_nobody_only_if_the_driver_says_so) {
  FakeNvml machine("h100x8_nvswitch");
  machine.set("/answers/nvmlDeviceGetComputeRunningProcesses_v3", "3");
  machine.set("/answers/nvmlDeviceGetComputeRunningProcesses_v2", "4");
  NvmlDevices devices(machine.options());
  const std::string uuid = MUST(devices.fingerprint()).devices[0].uuid;
  EXPECT_EQ(devices.processes(uuid).error().code, Code::kUnimplemented);
}

// Complaint 16: a GPU that is split later is not seen.
TEST(NvmlDevices, sees_a_gpu_being_split_while_it_runs) {
  FakeNvml machine("a100_mig");
  machine.set("/gpus/0/mig/slices", "[]");
  NvmlDevices devices(machine.options());
  EXPECT_EQ(MUST(devices.fingerprint()).devices.size(), 1u) << "split, but into nothing yet";
  machine.set("/gpus/0/mig/slices",
              R"([{"uuid": "MIG-1", "profile": "7g.40gb", "gi": 0, "ci": 0, "slices": 7,
                   "memory": {"total_mib": 40192}}])");
  const Inventory inventory = MUST(devices.fingerprint());
  ASSERT_EQ(inventory.devices.size(), 2u);
  EXPECT_EQ(inventory.devices[0].uuid, "MIG-1");
}

TEST(NvmlDevices, takes_the_machine_s_memory_for_a_gpu_that_shares_it) {
  FakeNvml machine("rtx4090x2_workstation");
  machine.remove("/defaults/memory");
  machine.remove("/gpus/1/memory");
  machine.file("proc/meminfo", "MemTotal:       125829120 kB\nMemFree: 1 kB\n");
  NvmlDevices devices(machine.options());
  EXPECT_EQ(MUST(devices.fingerprint()).devices.at(0).memory, gibibytes(120));
}

}  // namespace
}  // namespace keiko
