// A node keeps the devices that do not answer while its agent starts.
#include "agent/health/known_devices.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace keiko::agent {
namespace {

using Names = std::set<std::string>;

class KnownDevicesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "keiko_known_XXXXXX";
    path_ = mkdtemp(pattern.data());
    folder_.emplace(MUST(StateFolder::open(path_)));
  }
  void TearDown() override {
    folder_.reset();
    std::filesystem::remove_all(path_);
  }
  static Device gpu(int32_t index, const std::string& parent = {}) {
    Device device;
    device.uuid = "GPU-" + std::to_string(index);
    device.vendor = "nvidia";
    device.index = index;
    device.pci_address = "0000:0" + std::to_string(index) + ":00.0";
    device.parent_uuid = parent;
    return device;
  }
  static Inventory four() {
    Inventory all{{gpu(0), gpu(1), gpu(2), gpu(3)}, {}};
    all.links = {{0, 1, LinkKind::kNvlink, 50'000, {}, 50'000}};
    return all;
  }
  /// All but GPU-1; those behind it move up, as a driver counts.
  static Inventory three() {
    Inventory rest{{gpu(0), gpu(2), gpu(3)}, {}};
    rest.devices[1].index = 1;
    rest.devices[2].index = 2;
    return rest;
  }
  KnownDevices know(Inventory found, const std::string& boot = "boot-1") {
    return know_devices(*folder_, boot, std::move(found));
  }

  std::string path_;
  std::optional<StateFolder> folder_;
};

// Complaint 21: a device once marked bad does not come back by itself.
TEST_F(KnownDevicesTest, one_that_does_not_answer_keeps_its_place_and_so_do_the_others) {
  know(four());
  const KnownDevices known = know(three());
  EXPECT_EQ(known.missing, Names{"GPU-1"});
  EXPECT_EQ(known.inventory.devices, four().devices);
  EXPECT_EQ(known.inventory.links, four().links);
  EXPECT_EQ(know(three()).missing, Names{"GPU-1"}) << "also the agent after that knows it";
  EXPECT_EQ(know(four()).missing, Names{}) << "it is back";
}

TEST_F(KnownDevicesTest, a_boot_begins_a_new_count) {
  know(four());
  const KnownDevices known = know(three(), "boot-2");
  EXPECT_EQ(known.missing, Names{});
  EXPECT_EQ(known.inventory.devices, three().devices);
}

TEST_F(KnownDevicesTest, nothing_is_missed_where_the_boot_is_unknown_or_hardware_is_new) {
  know(four(), "");
  EXPECT_EQ(know(three(), "").missing, Names{});
  know(four());
  Inventory other = three();
  other.devices.push_back(gpu(7));
  EXPECT_EQ(know(other).missing, Names{}) << "somebody exchanged it";
}

TEST_F(KnownDevicesTest, a_cpu_slot_or_a_slice_of_another_split_is_not_missed) {
  Inventory slots{{gpu(0), gpu(1)}, {}};
  for (Device& slot : slots.devices) slot.pci_address.clear();
  know(slots);
  slots.devices.pop_back();
  EXPECT_EQ(know(slots).missing, Names{}) << "its agent was told to offer fewer";
  Inventory slices{{gpu(0, "whole"), gpu(1, "whole")}, {}};
  slices.devices[1].pci_address = slices.devices[0].pci_address;
  know(slices);
  slices.devices.pop_back();
  EXPECT_EQ(know(slices).missing, Names{});
}

TEST_F(KnownDevicesTest, without_any_device_of_its_driver_nothing_is_known) {
  know(four());
  EXPECT_EQ(know({}).missing, Names{}) << "the agent was told to look for others";
}

TEST_F(KnownDevicesTest, damaged_bytes_are_as_good_as_none) {
  ASSERT_TRUE(folder_->store("devices", "nonsense").ok());
  EXPECT_EQ(know(three()).inventory.devices, three().devices);
}

}  // namespace
}  // namespace keiko::agent
