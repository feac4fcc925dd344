#include "drivers/devices/cpu/cpu_devices.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "ports/devices_conformance.h"

namespace keiko {
namespace {

CpuDevicesOptions four_slots() {
  CpuDevicesOptions options;
  options.count = 4;
  options.memory = gibibytes(2);
  options.links = "0-1:nvlink:50000,2-3:nvlink:50000";
  options.instance = "node-a";
  return options;
}

std::unique_ptr<Devices> make_four() { return std::make_unique<CpuDevices>(four_slots()); }
std::unique_ptr<Devices> make_default() {
  return std::make_unique<CpuDevices>(CpuDevicesOptions{});
}
INSTANTIATE_TEST_SUITE_P(CpuSlots, DevicesConformance, testing::Values(&make_four));
INSTANTIATE_TEST_SUITE_P(ThisMachine, DevicesConformance, testing::Values(&make_default));

/// A machine of text files.
class FakeKernel {
 public:
  FakeKernel() {
    const char* const above = std::getenv("TMPDIR");
    folder_ = std::string(above != nullptr ? above : "/tmp") + "/keiko-cpu-XXXXXX";
    CHECK(mkdtemp(folder_.data()) != nullptr);
  }
  ~FakeKernel() { std::filesystem::remove_all(folder_); }
  void file(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  CpuDevicesOptions options(int32_t count) {
    CpuDevicesOptions options;
    options.count = count;
    options.proc_root = folder_ + "/proc";
    options.sys_root = folder_ + "/sys";
    options.machine_id_file = folder_ + "/machine-id";
    return options;
  }

 private:
  std::string folder_;
};

TEST(CpuDevices, has_one_slot_per_usable_core_by_default) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  CpuDevices devices(CpuDevicesOptions{});
  EXPECT_EQ(MUST(devices.fingerprint()).devices.size(), static_cast<size_t>(CPU_COUNT(&set)));
}

TEST(CpuDevices, gives_two_nodes_on_one_machine_different_uuids) {
  CpuDevicesOptions other = four_slots();
  other.instance = "node-b";
  std::set<std::string> uuids;
  for (const CpuDevicesOptions& options : {four_slots(), other}) {
    CpuDevices devices(options);
    for (const Device& device : MUST(devices.fingerprint()).devices) uuids.insert(device.uuid);
  }
  EXPECT_EQ(uuids.size(), 8u);
}

TEST(CpuDevices, takes_its_identity_from_the_machine_if_nobody_gives_one) {
  FakeKernel kernel;
  kernel.file("machine-id", "one\n");
  CpuDevices devices(kernel.options(1));
  const std::string first = MUST(devices.fingerprint()).devices[0].uuid;
  kernel.file("machine-id", "two\n");
  EXPECT_NE(MUST(devices.fingerprint()).devices[0].uuid, first);
}

TEST(CpuDevices, shares_the_machine_s_memory_among_slots_of_no_stated_size) {
  FakeKernel kernel;
  kernel.file("proc/meminfo", "MemTotal:        8388608 kB\nMemFree:         1 kB\n");
  CpuDevices devices(kernel.options(4));
  EXPECT_EQ(MUST(devices.fingerprint()).devices[3].memory, gibibytes(2));
}

TEST(CpuDevices, places_slots_on_the_numa_node_of_their_cores) {
  FakeKernel kernel;
  // Whatever core this test may use: it is on node 1.
  kernel.file("sys/devices/system/node/online", "0-1\n");
  kernel.file("sys/devices/system/node/node0/cpulist", "\n");
  kernel.file("sys/devices/system/node/node1/cpulist", "0-1023\n");
  CpuDevices devices(kernel.options(3));
  for (const Device& device : MUST(devices.fingerprint()).devices) {
    EXPECT_EQ(device.numa_node, 1);
  }
}

TEST(CpuDevices, makes_chosen_slots_visible_by_uuid) {
  CpuDevices devices(four_slots());
  const Inventory inventory = MUST(devices.fingerprint());
  const auto environment =
      MUST(devices.visibility({inventory.devices[2].uuid, inventory.devices[0].uuid}));
  EXPECT_EQ(environment.at("KEIKO_VISIBLE_DEVICES"),
            inventory.devices[0].uuid + "," + inventory.devices[2].uuid);
}

TEST(CpuDevices, tells_utilisation_between_two_readings_and_nothing_before) {
  FakeKernel kernel;
  const auto set_ticks = [&](int busy, int idle) {
    std::string text = "cpu  0 0 0 0\n";
    for (int core = 0; core < 1024; ++core) {
      text += "cpu" + std::to_string(core) + " " + std::to_string(busy) + " 0 0 " +
              std::to_string(idle) + " 0 0 0 0 0 0\n";
    }
    kernel.file("proc/stat", text);
  };
  kernel.file("proc/meminfo", "MemTotal: 100 kB\nMemAvailable:  50 kB\n");
  set_ticks(100, 900);
  CpuDevices devices(kernel.options(2));
  const auto first = MUST(devices.stats());
  EXPECT_EQ(first[0].values.count("utilisation_ratio"), 0u);
  EXPECT_EQ(first[0].values.at("memory_available_bytes"), 50 * 1024.0);
  set_ticks(125, 975);
  const auto second = MUST(devices.stats());
  EXPECT_DOUBLE_EQ(second[1].values.at("utilisation_ratio"), 0.25);
}

TEST(CpuDevices, refuses_a_count_that_makes_no_sense) {
  CpuDevicesOptions options;
  options.count = -1;
  EXPECT_EQ(CpuDevices(options).fingerprint().error().code, Code::kInvalidArgument);
}

TEST(LinkMap, reads_a_list_in_any_order) {
  const auto links = MUST(parse_links("3-2:pcie:16000, 0-1:nvlink:50000", 4));
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0], (Link{0, 1, LinkKind::kNvlink, 50'000, {}}));
  EXPECT_EQ(links[1], (Link{2, 3, LinkKind::kPcie, 16'000, {}}));
}

TEST(LinkMap, knows_three_shapes_by_name) {
  EXPECT_TRUE(MUST(parse_links("none", 4)).empty());
  EXPECT_EQ(MUST(parse_links("full", 4)).size(), 6u);
  const auto ring = MUST(parse_links("ring", 4));
  ASSERT_EQ(ring.size(), 4u);
  EXPECT_EQ(ring[1].second, 3);
  EXPECT_EQ(MUST(parse_links("ring", 2)).size(), 1u) << "two devices have one link, not two";
  EXPECT_TRUE(MUST(parse_links("ring", 1)).empty());
}

TEST(LinkMap, says_what_is_wrong_with_a_piece) {
  const std::pair<const char*, const char*> cases[] = {
      {"0-9:nvlink:1", "devices are 0 to 3"},  {"1-1:nvlink:1", "two different"},
      {"0-1:nvlnk:1", "did you mean nvlink"},  {"0-1:nvlink:fast", "not a speed"},
      {"0-1:nvlink", "2 parts"},               {"a-b:nvlink:1", "not a pair"},
      {"0-1:pcie:1,1-0:pcie:2", "linked twice"}};
  for (const auto& [text, why] : cases) {
    const auto refused = parse_links(text, 4);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_NE(refused.error().message.find(why), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace keiko
