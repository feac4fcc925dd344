#include "model/pci_path.h"

#include <gtest/gtest.h>

namespace keiko {
namespace {

PciPlace place(const std::string& folder, int32_t numa_node) {
  return {parse_pci_path(folder), numa_node};
}

TEST(PciAddress, is_read_as_the_kernel_writes_it) {
  PciAddress address;
  ASSERT_TRUE(parse_pci_address("0001:3B:1f.7", address));
  EXPECT_EQ(address, (PciAddress{1, 0x3b, 0x1f, 7}));
  EXPECT_EQ(to_text(address), "0001:3b:1f.7");
  ASSERT_TRUE(parse_pci_address("10000:e1:00.0", address)) << "domains of NVMe controllers";
  EXPECT_EQ(to_text(address), "10000:e1:00.0");
}

TEST(PciAddress, is_nothing_else) {
  PciAddress address{9, 9, 9, 1};
  for (const char* text : {"", "0000:3b:00", "0000:3b:00.8", "0000:3b:20.0", "0:3b:00.0",
                           "0000:3b:00.0 ", "pci0000:37", "0000:3g:00.0", "0000-3b-00.0"}) {
    EXPECT_FALSE(parse_pci_address(text, address)) << text;
  }
  EXPECT_EQ(address, (PciAddress{9, 9, 9, 1})) << "left alone";
}

TEST(PciAddress, counts_in_hexadecimal_order) {
  PciAddress low, high;
  ASSERT_TRUE(parse_pci_address("0000:0a:00.0", low));
  ASSERT_TRUE(parse_pci_address("0000:c1:00.0", high));
  EXPECT_LT(low, high);
}

TEST(PciPath, holds_the_steps_between_host_bridge_and_device) {
  const PciPath path =
      parse_pci_path("/sys/devices/pci0000:37/0000:37:01.0/0000:38:00.0/net/eth0");
  EXPECT_EQ(path.steps,
            (std::vector<std::string>{"pci0000:37", "0000:37:01.0", "0000:38:00.0"}));
  EXPECT_EQ(path.root(), "pci0000:37");
  EXPECT_EQ(path.address(), "0000:38:00.0");
}

TEST(PciPath, is_empty_for_what_is_not_on_a_bus) {
  for (const char* folder : {"", "/sys/devices/virtual/net/lo", "/sys/devices/pci0000:37",
                             "/sys/devices/platform/0000:38:00.0", "/sys/pciabcd/0000:38:00.0"}) {
    EXPECT_TRUE(parse_pci_path(folder).steps.empty()) << folder;
  }
}

TEST(Nearness, is_a_switch_below_one_root_port) {
  const PciPlace one = place("/devices/pci0000:37/0000:37:01.0/0000:38:00.0/0000:3a:00.0", 0);
  const PciPlace two = place("/devices/pci0000:37/0000:37:01.0/0000:38:00.0/0000:3b:00.0", 0);
  EXPECT_EQ(nearness(one, two), Nearness::kSwitch);
  EXPECT_EQ(nearness(two, two), Nearness::kSame);
}

TEST(Nearness, is_a_root_below_one_host_bridge_but_two_ports) {
  const PciPlace one = place("/devices/pci0000:37/0000:37:01.0/0000:38:00.0", 0);
  const PciPlace two = place("/devices/pci0000:37/0000:37:03.0/0000:40:00.0", 0);
  EXPECT_EQ(nearness(one, two), Nearness::kRoot);
}

TEST(Nearness, falls_back_on_numa_nodes) {
  const PciPlace one = place("/devices/pci0000:37/0000:37:01.0/0000:38:00.0", 0);
  const PciPlace same = place("/devices/pci0000:48/0000:48:01.0/0000:49:00.0", 0);
  const PciPlace other = place("/devices/pci0000:b7/0000:b7:01.0/0000:b8:00.0", 1);
  const PciPlace unknown = place("/devices/pci0000:c7/0000:c7:01.0/0000:c8:00.0", -1);
  EXPECT_EQ(nearness(one, same), Nearness::kNuma);
  EXPECT_EQ(nearness(one, other), Nearness::kFar);
  EXPECT_EQ(nearness(one, unknown), Nearness::kFar) << "nothing is promised";
  EXPECT_EQ(nearness({{}, -1}, unknown), Nearness::kNuma) << "machines with one node say -1";
}

TEST(Nearness, says_what_kind_of_link_it_is) {
  EXPECT_EQ(link_kind(Nearness::kSwitch), LinkKind::kPcie);
  EXPECT_EQ(link_kind(Nearness::kRoot), LinkKind::kPcie);
  EXPECT_EQ(link_kind(Nearness::kNuma), LinkKind::kNuma);
  EXPECT_EQ(link_kind(Nearness::kFar), LinkKind::kSystem);
}

TEST(PcieLanes, have_the_speed_of_their_generation) {
  EXPECT_EQ(pcie_lane_megabytes_per_s(160, 16), 31'504);
  EXPECT_EQ(pcie_lane_megabytes_per_s(320, 16), 63'008);
  EXPECT_EQ(pcie_lane_megabytes_per_s(25, 1), 250);
  EXPECT_EQ(pcie_lane_megabytes_per_s(160, 0), 0);
  EXPECT_EQ(pcie_lane_megabytes_per_s(160, 255), 0) << "sysfs tells 255 lanes if it knows none";
  EXPECT_EQ(pcie_lane_megabytes_per_s(161, 16), 0);
}

}  // namespace
}  // namespace keiko
