#include "drivers/sysfs/pci_function.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "drivers/sysfs/lost_devices.h"
#include "drivers/sysfs/machine_fixture.h"
#include "drivers/sysfs/open_files.h"

namespace keiko {
namespace {

constexpr char kGpu[] =
    "sys/devices/pci0000:20/0000:20:01.0/0000:21:00.0/0000:22:00.0/0000:23:00.0";

TEST(PciFunction, tells_what_and_where_it_is) {
  const RecordedMachine machine("mi300x_8");
  const auto gpu = read_pci_function(SysfsTree(machine.root()), "0000:23:00.0");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->folder, std::string("/") + kGpu);
  EXPECT_EQ(gpu->vendor, 0x1002);
  EXPECT_EQ(gpu->device, 0x74a1);
  EXPECT_EQ(gpu->base_class, 0x12);
  EXPECT_EQ(gpu->place.numa_node, 0);
  EXPECT_EQ(gpu->place.path.root(), "pci0000:20");
  EXPECT_EQ(gpu->healthy_megabytes_per_s, 63'008);
}

TEST(PciFunction, is_absent_where_the_bus_has_none) {
  const RecordedMachine machine("laptop");
  const SysfsTree tree(machine.root());
  EXPECT_FALSE(read_pci_function(tree, "0000:99:00.0"));
  EXPECT_FALSE(read_pci_function(tree, "../../etc"));
  EXPECT_FALSE(pci_function_of(tree, "/sys/class/net/lo/device"));
  EXPECT_EQ(pci_function_of(tree, "/sys/class/net/enp1s0/device")->address, "0000:01:00.0");
}

TEST(PciFunction, is_as_fast_as_the_narrowest_link_above_it) {
  RecordedMachine machine("mi300x_8");
  machine.add("sys/devices/pci0000:20/0000:20:01.0/current_link_width", "8");
  const auto gpu = read_pci_function(SysfsTree(machine.root()), "0000:23:00.0");
  EXPECT_EQ(gpu->megabytes_per_s, 31'504) << "half of the root port's lanes did not train";
  EXPECT_EQ(gpu->healthy_megabytes_per_s, 63'008);
}

TEST(PciFunction, has_no_speed_if_a_link_above_it_tells_nonsense) {
  RecordedMachine machine("mi300x_8");
  for (const char* speed : {"Unknown", "160 GT/s", "16.0 GT", "16.x GT/s PCIe", "999.0 GT/s"}) {
    machine.add("sys/devices/pci0000:20/0000:20:01.0/max_link_speed", speed);
    EXPECT_EQ(read_pci_function(SysfsTree(machine.root()), "0000:23:00.0")->megabytes_per_s, 0);
  }
}

TEST(PciFunctions, are_listed_in_the_order_of_the_bus) {
  const RecordedMachine machine("laptop");
  std::vector<std::string> addresses;
  for (const auto& function : list_pci_functions(SysfsTree(machine.root()))) {
    addresses.push_back(function.address);
  }
  EXPECT_EQ(addresses, (std::vector<std::string>{"0000:00:02.0", "0000:00:1c.0", "0000:00:1d.0",
                                                 "0000:01:00.0", "0000:02:00.0"}));
}

TEST(PciFunctions, are_listed_by_their_vendor) {
  const RecordedMachine machine("intel_2");
  const SysfsTree tree(machine.root());
  EXPECT_EQ(pci_functions_of_vendor(tree, 0x8086).size(), list_pci_functions(tree).size());
  EXPECT_TRUE(pci_functions_of_vendor(tree, 0x10de).empty());
  EXPECT_TRUE(pci_functions_of_vendor(tree, -1).empty());
}

TEST(PcieLinks, are_of_the_kind_that_the_tree_says) {
  const RecordedMachine machine("mi300x_8");
  const SysfsTree tree(machine.root());
  std::vector<PciFunction> functions;
  for (const char* address : {"0000:23:00.0", "0000:24:00.0", "0000:43:00.0", "0000:a3:00.0"}) {
    functions.push_back(*read_pci_function(tree, address));
  }
  const std::vector<Link> links = pcie_links(functions);
  ASSERT_EQ(links.size(), 6u);
  EXPECT_EQ(links[0], (Link{0, 1, LinkKind::kPcie, 63'008, {}, 63'008})) << "GPU and its NIC";
  EXPECT_EQ(links[1].kind, LinkKind::kNuma) << "two host bridges of one socket";
  EXPECT_EQ(links[2].kind, LinkKind::kSystem) << "two sockets";
}

TEST(LostDevices, are_told_once_for_each_absence) {
  Inventory both;
  both.devices.resize(2);
  both.devices[0].uuid = "a";
  both.devices[1].uuid = "b";
  both.devices[1].kind = "gaudi2";
  both.devices[1].pci_address = "0000:19:00.0";
  Inventory one = both;
  one.devices.pop_back();
  LostDevices lost;
  lost.see(both);
  EXPECT_TRUE(lost.take().empty());
  lost.see(one);
  lost.see(one);
  const auto faults = lost.take();
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].uuid, "b");
  EXPECT_EQ(faults[0].kind, FaultKind::kLost);
  EXPECT_NE(faults[0].text.find("gaudi2 at 0000:19:00.0"), std::string::npos);
  lost.see(both);
  lost.see(one);
  EXPECT_EQ(lost.take().size(), 1u) << "it came back and left again";
}

TEST(OpenFiles, name_each_process_once) {
  RecordedMachine machine;
  machine.add("dev/accel/accel0", "");
  machine.add("proc/41/fd/3", "-> /dev/accel/accel0");
  machine.add("proc/41/fd/4", "-> /dev/accel/accel0");
  machine.add("proc/7/fd/0", "-> /dev/null");
  machine.add("proc/9/fd/12", "-> /dev/accel/accel1");
  machine.add("proc/meminfo", "MemTotal: 1 kB");
  const SysfsTree tree(machine.root());
  EXPECT_EQ(MUST(processes_with_open(tree, {"/dev/accel/accel0"})),
            (std::vector<DeviceProcess>{{41, std::nullopt}}));
  EXPECT_EQ(MUST(processes_with_open(tree, {"/dev/accel/accel0", "/dev/accel/accel1"})).size(), 2u);
}

TEST(OpenFiles, admit_what_they_may_not_see) {
  if (geteuid() == 0) GTEST_SKIP() << "root sees the files of every process";
  EXPECT_EQ(processes_with_open(SysfsTree("/"), {"/dev/accel/accel0"}).error().code,
            Code::kUnimplemented);
}

}  // namespace
}  // namespace keiko
