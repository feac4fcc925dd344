#include "agent/metrics/device_readings.h"

#include <gtest/gtest.h>

#include "ports/clock_fake.h"
#include "ports/devices_fake.h"
#include "ports/testing/devices_lent.h"

namespace keiko::agent {
namespace {

/// A machine whose driver may be opened many times; counts how often it is open.
class SharedMachine : public LentDevices {
 public:
  SharedMachine(FakeDevices& devices, int& open) : LentDevices(devices), open_(open) { ++open_; }
  ~SharedMachine() override { --open_; }

 private:
  int& open_;
};

class DeviceReadingsTest : public testing::Test {
 protected:
  FakeDevices machine_{fake_inventory(2)};
  int open_ = 0;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(Time{} + seconds(1000));
  DeviceReadings readings_{[this]() -> Result<std::unique_ptr<Devices>> {
                             return std::unique_ptr<Devices>(new SharedMachine(machine_, open_));
                           }, clock_};
};

TEST_F(DeviceReadingsTest, tell_what_each_device_tells) {
  machine_.set_stats({"fake-1", {{"power_watts", 300}}});
  const auto readings = MUST(readings_.read());
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[1], (Reading{{SubjectKind::kDevice, "fake-1"}, {{"power_watts", 300}}}));
  EXPECT_EQ(readings_.terms("n1").devices.size(), 2u);
}

TEST_F(DeviceReadingsTest, count_each_xid_and_keep_the_last) {
  static_cast<void>(MUST(readings_.read()));
  machine_.add_fault({"fake-1", FaultKind::kXid, 31, {}, "page fault"});
  machine_.add_fault({"fake-1", FaultKind::kXid, 13, {}, "engine exception"});
  machine_.add_fault({"fake-1", FaultKind::kXid, 31, {}, "page fault"});
  machine_.add_fault({"fake-0", FaultKind::kEcc, 0, {}, "not an XID"});
  static_cast<void>(MUST(readings_.read()));
  const auto xids = readings_.terms("n1").xids;
  ASSERT_EQ(xids.size(), 1u);
  EXPECT_EQ(xids.at("fake-1").last, 31);
  EXPECT_EQ(xids.at("fake-1").counts, (std::map<int64_t, int64_t>{{13, 1}, {31, 2}}));
}

TEST_F(DeviceReadingsTest, tell_who_holds_devices_while_somebody_asks) {
  Inventory inventory = fake_inventory(2);
  inventory.devices[1].vendor = "nvidia";
  machine_.set_inventory(inventory);
  machine_.set_processes("fake-0", {{7, mebibytes(1)}});
  machine_.set_processes("fake-1", {{8, mebibytes(2), 0.5}});
  static_cast<void>(MUST(readings_.read()));
  EXPECT_TRUE(readings_.holders().empty()) << "nobody had asked";
  static_cast<void>(MUST(readings_.read()));
  const std::vector<DeviceProcess> of_nvidia{{8, mebibytes(2), 0.5}};
  EXPECT_EQ(readings_.holders(), of_nvidia);
  clock_->advance(seconds(6));
  EXPECT_TRUE(readings_.holders().empty()) << "that was long ago";
}

TEST_F(DeviceReadingsTest, let_go_of_the_library_while_a_device_is_lost) {
  static_cast<void>(MUST(readings_.read()));
  EXPECT_EQ(open_, 1);
  machine_.add_fault({"fake-1", FaultKind::kLost, 0, {}, "fell off"});
  machine_.set_inventory(fake_inventory(1));
  EXPECT_EQ(MUST(readings_.read()).size(), 1u);
  EXPECT_EQ(open_, 0) << "so that the loop's driver can start it afresh";
  clock_->advance(seconds(9));
  EXPECT_TRUE(MUST(readings_.read()).empty()) << "it rests";
  EXPECT_EQ(open_, 0);
  clock_->advance(seconds(1));
  EXPECT_EQ(MUST(readings_.read()).size(), 1u);
  EXPECT_EQ(readings_.terms("n1").devices.size(), 2u)
      << "the lost one is still known, with its XIDs";
}

TEST_F(DeviceReadingsTest, try_again_after_a_rest_when_the_driver_fails) {
  machine_.fail_with(unavailable("the driver does not run"));
  EXPECT_FALSE(readings_.read().ok());
  machine_.fail_with({Code::kOk, {}, {}});
  EXPECT_TRUE(MUST(readings_.read()).empty());
  clock_->advance(seconds(10));
  EXPECT_EQ(MUST(readings_.read()).size(), 2u);
}

TEST_F(DeviceReadingsTest, look_for_devices_again_every_minute) {
  static_cast<void>(MUST(readings_.read()));
  machine_.set_inventory(fake_inventory(3));
  clock_->advance(seconds(59));
  static_cast<void>(MUST(readings_.read()));
  EXPECT_EQ(readings_.terms("n1").devices.size(), 2u);
  clock_->advance(seconds(1));
  static_cast<void>(MUST(readings_.read()));
  EXPECT_EQ(readings_.terms("n1").devices.size(), 3u);
}

}  // namespace
}  // namespace keiko::agent
