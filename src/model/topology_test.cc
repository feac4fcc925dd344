#include "model/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fields.h"

namespace keiko {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Two host bridges on two NUMA nodes. Below the first a switch with GPU 0 and a NIC, and a second
/// root port with GPU 1; below the second GPU 2, and the two ports of a bond.
NodeSpec make_node() {
  NodeSpec node;
  node.host = HostSpec();
  node.host->numa = {{0, 0, "0-3", gibibytes(8)}, {1, 1, "4-7", gibibytes(8)}};
  node.host->slots = {
      {"pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:00.0/0000:13:00.0", 0},
      {"pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:01.0/0000:14:00.0", 0},
      {"pci0000:10/0000:10:02.0/0000:1a:00.0", 0},
      {"pci0000:80/0000:80:01.0/0000:81:00.0", 1},
      {"pci0000:90/0000:90:01.0/0000:91:00.0", 1},
      {"pci0000:90/0000:90:01.0/0000:91:00.1", 1},
  };
  for (const char* address : {"0000:13:00.0", "00000000:1A:00.0", "0000:81:00.0"}) {
    Device device;
    device.index = static_cast<int32_t>(node.devices.size());
    device.pci_address = address;
    node.devices.push_back(device);
  }
  for (const char* address : {"0000:14:00.0", "0000:91:00.0", "0000:91:00.1", ""}) {
    Nic nic;
    nic.name = nic.interface = "eth" + std::to_string(node.host->nics.size());
    nic.pci_address = address;
    node.host->nics.push_back(nic);
  }
  node.host->nics.back().members = {"eth1", "eth2"};
  return node;
}

TEST(NicNearness, follows_the_bus_and_then_the_numa_node) {
  const auto rows = nic_nearness(make_node());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0], ElementsAre(Nearness::kSwitch, Nearness::kFar, Nearness::kFar,
                                   Nearness::kFar));
  EXPECT_THAT(rows[1], ElementsAre(Nearness::kRoot, Nearness::kFar, Nearness::kFar,
                                   Nearness::kFar)) << "an address in any spelling";
  EXPECT_THAT(rows[2], ElementsAre(Nearness::kFar, Nearness::kNuma, Nearness::kNuma,
                                   Nearness::kNuma)) << "a bond is as near as its members";
}

TEST(NicNearness, promises_nothing_where_a_device_has_no_known_place) {
  NodeSpec node = make_node();
  node.devices[0].pci_address.clear();
  node.devices[0].numa_node = 1;
  EXPECT_THAT(nic_nearness(node)[0], ElementsAre(Nearness::kFar, Nearness::kNuma, Nearness::kNuma,
                                                 Nearness::kNuma));
  node.host.reset();
  EXPECT_THAT(nic_nearness(node)[0], IsEmpty());
}

TEST(NicNearness, knows_that_all_is_near_on_a_machine_with_one_numa_node) {
  NodeSpec node = make_node();
  node.host->numa.resize(1);
  for (PciSlot& slot : node.host->slots) slot.numa_node = -1;
  node.devices[2].pci_address.clear();
  node.devices[2].numa_node = 0;
  EXPECT_EQ(nic_nearness(node)[2][0], Nearness::kNuma);
}

TEST(NearestNics, are_all_that_none_is_nearer_than) {
  const NodeSpec node = make_node();
  const auto rows = nic_nearness(node);
  EXPECT_THAT(nearest_nics(node, rows[0]), ElementsAre(0));
  EXPECT_THAT(nearest_nics(node, rows[2]), ElementsAre(1, 2)) << "a bond's members, not the bond";
  NodeSpec elsewhere = node;
  elsewhere.host->slots[3].numa_node = -1;
  const std::vector<Nearness> row = nic_nearness(elsewhere)[2];
  EXPECT_THAT(nearest_nics(elsewhere, row), IsEmpty()) << "far is not near";
}

TEST(DeviceWays, are_by_the_bus_unless_a_link_is_better) {
  NodeSpec node = make_node();
  node.links = {{0, 2, LinkKind::kNvlink, 50'000, {}}, {0, 1, LinkKind::kSystem, 20'000, {}}};
  const auto ways = device_ways(node);
  EXPECT_EQ(ways[0][0].nearness, Nearness::kSame);
  EXPECT_EQ(ways[0][2].kind, LinkKind::kNvlink);
  EXPECT_EQ(ways[2][0].kind, LinkKind::kNvlink) << "both ways";
  EXPECT_EQ(ways[2][0].nearness, Nearness::kFar) << "what remains when NVLink fails";
  ASSERT_NE(ways[2][0].link, nullptr);
  EXPECT_EQ(ways[2][0].link->megabytes_per_s, 50'000);
  EXPECT_EQ(ways[0][1].kind, LinkKind::kPcie) << "the path is known: one host bridge";
  EXPECT_EQ(ways[0][1].nearness, Nearness::kRoot);
  EXPECT_EQ(ways[1][2].link, nullptr);
  EXPECT_EQ(ways[1][2].kind, LinkKind::kSystem);
}

TEST(DeviceWays, follow_the_links_where_no_path_is_known) {
  NodeSpec node = make_node();
  node.host.reset();
  node.links = {{0, 1, LinkKind::kPcie, 0, {}}, {1, 2, LinkKind::kSystem, 0, {}}};
  const auto ways = device_ways(node);
  EXPECT_EQ(ways[0][1].nearness, Nearness::kRoot) << "one host bridge at best";
  EXPECT_EQ(ways[0][1].kind, LinkKind::kPcie);
  EXPECT_EQ(ways[1][2].nearness, Nearness::kFar);
  EXPECT_EQ(ways[0][2].nearness, Nearness::kNuma) << "both say NUMA node 0";
}

TEST(DeviceWays, between_slices_of_one_device_are_shared_whatever_their_link_says) {
  NodeSpec node = make_node();
  node.devices[1].pci_address = "0000:13:00.0";
  node.links = {{0, 1, LinkKind::kPcie, 0, {}}};
  EXPECT_EQ(device_ways(node)[0][1].kind, LinkKind::kShared);
  node.host.reset();
  EXPECT_EQ(device_ways(node)[1][0].kind, LinkKind::kShared);
  EXPECT_EQ(device_ways(node)[1][0].nearness, Nearness::kSame);
  EXPECT_THAT(islands(node), IsEmpty()) << "slices of a device cannot reach each other by it";
}

TEST(Islands, join_devices_over_others_and_leave_single_ones_out) {
  NodeSpec node;
  node.devices.resize(7);
  node.links = {{4, 5, LinkKind::kXgmi, 0, {}},    {0, 3, LinkKind::kNvlink, 0, {}},
                {2, 3, LinkKind::kNvlink, 0, {}},  {1, 6, LinkKind::kPcie, 0, {}},
                {3, 99, LinkKind::kNvlink, 0, {}}, {-1, 3, LinkKind::kNvlink, 0, {}}};
  EXPECT_THAT(islands(node), ElementsAre(ElementsAre(0, 2, 3), ElementsAre(4, 5)));
  node.links.clear();
  EXPECT_THAT(islands(node), IsEmpty());
}

// ---- the field that came later ----

/// A NodeSpec as it was written before it could tell of its host.
struct NodeSpecBefore {
  std::string name;
  std::string version;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "name", s.name);
    v(10, "version", s.version);
  }
};

TEST(HostOfNode, is_absent_in_old_records_and_skipped_by_old_readers) {
  NodeSpec node = make_node();
  node.name = "a";
  node.version = "1";
  EXPECT_EQ(MUST(decode<NodeSpec>(encode(node))), node);
  EXPECT_EQ(MUST(decode<NodeSpecBefore>(encode(node))).version, "1");
  const NodeSpec old = MUST(decode<NodeSpec>(encode(NodeSpecBefore{"a", "1"})));
  EXPECT_FALSE(old.host.has_value());
  NodeSpec without;
  without.name = "a";
  without.version = "1";
  EXPECT_EQ(encode(without), encode(NodeSpecBefore{"a", "1"})) << "digests of old states stay";
}

}  // namespace
}  // namespace keiko
