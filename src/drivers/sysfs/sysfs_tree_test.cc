#include "drivers/sysfs/sysfs_tree.h"

#include <gtest/gtest.h>

#include "drivers/sysfs/machine_fixture.h"

namespace keiko {
namespace {

TEST(SysfsTree, reads_values_as_the_kernel_writes_them) {
  RecordedMachine machine;
  machine.add("sys/a/speed", "16.0 GT/s PCIe");
  machine.add("sys/a/decimal", "-12");
  machine.add("sys/a/hex", "0x10De");
  const SysfsTree tree(machine.root());
  EXPECT_EQ(tree.text("/sys/a/speed"), "16.0 GT/s PCIe");
  EXPECT_EQ(tree.number("/sys/a/decimal", {-20, 20}), -12);
  EXPECT_EQ(tree.number("/sys/a/hex"), 0x10de);
}

TEST(SysfsTree, says_nothing_rather_than_something_wrong) {
  RecordedMachine machine;
  machine.add("sys/folder", "/");
  const SysfsTree tree(machine.root());
  for (const char* bytes : {"", "\n", "12", "1 2\n", "12x\n", "0x\n", "0x-1\n", "--1\n", " 12\n",
                            "99999999999999999999\n", "0xffffffffffffffff\n", "N/A\n", "1.5\n"}) {
    machine.add("sys/value", "");
    machine.write("sys/value", bytes);
    EXPECT_EQ(tree.number("/sys/value", {INT64_MIN, INT64_MAX}), std::nullopt) << bytes;
  }
  EXPECT_EQ(tree.number("/sys/missing"), std::nullopt);
  EXPECT_EQ(tree.text("/sys/folder"), std::nullopt) << "a folder has no text";
}

TEST(SysfsTree, keeps_numbers_within_what_is_possible) {
  RecordedMachine machine;
  machine.add("sys/busy", "101");
  EXPECT_EQ(SysfsTree(machine.root()).number("/sys/busy", {0, 100}), std::nullopt);
}

TEST(SysfsTree, refuses_a_text_without_end) {
  RecordedMachine machine;
  machine.add("sys/long", std::string(300'000, 'x'));
  EXPECT_EQ(SysfsTree(machine.root()).text("/sys/long"), std::nullopt);
}

TEST(SysfsTree, lists_names_as_people_count) {
  RecordedMachine machine;
  for (const char* name : {"node10", "node2", "node1", "card1-DP-1", "card1"}) {
    machine.add(std::string("sys/list/") + name, "/");
  }
  const SysfsTree tree(machine.root());
  EXPECT_EQ(tree.names("/sys/list"),
            (std::vector<std::string>{"card1", "card1-DP-1", "node1", "node2", "node10"}));
  EXPECT_TRUE(tree.names("/sys/missing").empty());
}

TEST(SysfsTree, follows_links_below_its_root_only) {
  RecordedMachine machine;
  machine.add("sys/devices/pci0000:00/0000:00:02.0/vendor", "0x8086");
  machine.add("sys/bus/pci/devices/0000:00:02.0", "-> ../../../devices/pci0000:00/0000:00:02.0");
  machine.add("sys/astray", "-> /usr");
  machine.add("sys/dangling", "-> ../nowhere/driver");
  const SysfsTree tree(machine.root());
  EXPECT_EQ(tree.resolved("/sys/bus/pci/devices/0000:00:02.0"),
            "/sys/devices/pci0000:00/0000:00:02.0");
  EXPECT_EQ(tree.resolved("/sys/astray"), "");
  EXPECT_EQ(tree.resolved("/sys/dangling"), "");
  EXPECT_EQ(tree.link_name("/sys/dangling"), "driver");
}

TEST(SysfsTree, reads_this_machine_from_its_root) {
  EXPECT_TRUE(SysfsTree("/").text("/proc/meminfo").has_value());
  EXPECT_EQ(SysfsTree("/").resolved("/proc/."), "/proc");
}

TEST(SysfsTree, finds_a_name_by_its_stem_and_a_number) {
  RecordedMachine machine;
  for (const char* name : {"accel_controlD0", "accel", "accel12", "accel3", "accel4x"}) {
    machine.add(std::string("sys/list/") + name, "/");
  }
  const SysfsTree tree(machine.root());
  EXPECT_EQ(tree.numbered_name("/sys/list", "accel"), "accel3") << "the first as people count";
  EXPECT_EQ(tree.numbered_name("/sys/list", "card"), "");
  EXPECT_EQ(tree.numbered_name("/sys/missing", "accel"), "");
  EXPECT_EQ(number_after("accel", "accel12"), 12);
  EXPECT_EQ(number_after("accel", "accel"), std::nullopt);
  EXPECT_EQ(number_after("", "99999999999"), std::nullopt);
}

TEST(Properties, are_the_lines_with_a_key_and_a_number) {
  const auto properties = parse_properties("unique_id 18446744073709551615\nname gfx\nsimd -1\n 7\n"
                                           "big 18446744073709551616\nlast 5");
  ASSERT_EQ(properties.size(), 2u);
  EXPECT_EQ(properties[0], (std::pair<std::string, uint64_t>("unique_id", UINT64_MAX)));
  EXPECT_EQ(properties[1].first, "last");
}

}  // namespace
}  // namespace keiko
