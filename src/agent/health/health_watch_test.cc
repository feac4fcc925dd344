#include "agent/health/health_watch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/log.h"
#include "ports/devices_fake.h"
#include "ports/testing/kernel_log_fake.h"

namespace keiko::agent {
namespace {

/// A node with two fake devices, the first at 0000:c1:00.0.
class HealthWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::kOff);
    std::string pattern = testing::TempDir() + "keiko_health_XXXXXX";
    state_dir_ = mkdtemp(pattern.data());
    spec_.name = "a";
    spec_.boot_id = "boot-1";
    inventory_.devices[0].pci_address = "0000:c1:00.0";
    inventory_.devices[1].pci_address = "0000:c2:00.0";
    devices_.set_inventory(inventory_);
    spec_.devices = inventory_.devices;
    start();
  }
  void TearDown() override {
    watch_.reset();
    folder_.reset();
    std::filesystem::remove_all(state_dir_);
    set_log_level(LogLevel::kInfo);
  }
  void start() {
    watch_.reset();
    folder_.reset();
    folder_.emplace(MUST(StateFolder::open(state_dir_)));
    watch_.emplace(HealthSources{*folder_, devices_, &log_, [this] { return boot_us_; }}, spec_,
                   now_);
  }
  bool look() {
    now_ = now_ + seconds(1);
    boot_us_ += 1'000'000;
    return watch_->look(now_);
  }
  const SubjectHealth* of(const std::string& uuid) const {
    for (const SubjectHealth& health : watch_->report().subjects) {
      if (health.subject.name == uuid) return &health;
    }
    return nullptr;
  }
  bool is_quarantined(const std::string& uuid) const {
    const SubjectHealth* const health = of(uuid);
    return health != nullptr && health->quarantined;
  }
  DeviceFault fault(FaultKind kind, int64_t code) const {
    return {inventory_.devices[0].uuid, kind, code, WallTime{}, "told by the driver"};
  }

  std::string state_dir_;
  NodeSpec spec_;
  Inventory inventory_ = fake_inventory(2);
  FakeDevices devices_{inventory_};
  FakeKernelLog log_;
  int64_t boot_us_ = 500'000'000;
  Time now_{1'700'000'000'000'000'000};
  std::optional<StateFolder> folder_;
  std::optional<HealthWatch> watch_;
};

TEST_F(HealthWatchTest, has_nothing_to_tell_of_a_healthy_node) {
  EXPECT_FALSE(look());
  EXPECT_EQ(watch_->report(), HealthReport{});
}

TEST_F(HealthWatchTest, quarantines_a_device_within_a_second_of_its_fault) {
  devices_.add_fault(fault(FaultKind::kXid, 79));
  EXPECT_TRUE(look());
  EXPECT_TRUE(is_quarantined("fake-0"));
  EXPECT_FALSE(is_quarantined("fake-1"));
  EXPECT_EQ(of("fake-0")->cause, "xid_79");
  ASSERT_EQ(watch_->report().incidents.size(), 1u);
  EXPECT_EQ(watch_->report().incidents[0].recovered_at, Time{});
  EXPECT_FALSE(watch_->report().incidents[0].steps.empty());
  EXPECT_FALSE(look()) << "told once";
}

TEST_F(HealthWatchTest, reads_the_kernels_log_and_counts_a_fault_of_both_once) {
  log_.say("NVRM: Xid (PCI:0000:c1:00): 94, pid=12, name=python, Contained error",
           boot_us_ + 500'000);
  devices_.add_fault(fault(FaultKind::kXid, 94));
  look();
  ASSERT_EQ(watch_->report().incidents.size(), 1u);
  EXPECT_EQ(watch_->report().incidents[0].subject.name, "fake-0") << "known by its PCI address";
}

TEST_F(HealthWatchTest, knows_after_a_restart_what_it_knew) {
  devices_.add_fault(fault(FaultKind::kXid, 79));
  look();
  start();
  EXPECT_TRUE(is_quarantined("fake-0"));
  EXPECT_EQ(watch_->report().incidents.size(), 1u);
}

TEST_F(HealthWatchTest, lets_a_device_that_is_back_work_again_in_time) {
  devices_.set_inventory({{inventory_.devices[1]}, {}});
  devices_.add_fault(fault(FaultKind::kLost, 0));
  look();
  EXPECT_TRUE(is_quarantined("fake-0"));
  devices_.set_inventory(inventory_);
  EXPECT_TRUE(look()) << "its return is told";
}

TEST_F(HealthWatchTest, begins_anew_where_its_file_is_damaged) {
  ASSERT_TRUE(folder_->store("health", "nonsense").ok());
  start();
  EXPECT_EQ(watch_->report(), HealthReport{});
  devices_.add_fault(fault(FaultKind::kXid, 79));
  look();
  EXPECT_TRUE(is_quarantined("fake-0"));
}

TEST_F(HealthWatchTest, goes_by_what_drivers_say_where_the_log_may_not_be_read) {
  log_.fail_with({Code::kPermissionDenied, "not for you", {}});
  devices_.add_fault(fault(FaultKind::kXid, 79));
  look();
  EXPECT_TRUE(is_quarantined("fake-0"));
}

}  // namespace
}  // namespace keiko::agent
