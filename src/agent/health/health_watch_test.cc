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
    watch_.emplace(HealthSources{*folder_, devices_, &log_, [this] { return boot_us_; },
                                 [this] { return room_; }, mebibytes(64), missing_},
                   spec_, now_);
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

  void lose_first() {
    devices_.set_inventory({{inventory_.devices[1]}, {}});
    devices_.add_fault(fault(FaultKind::kLost, 0));
    look();
    ASSERT_TRUE(is_quarantined("fake-0"));
  }
  /// A re-test of the device is passed.
  void passes(const std::string& uuid) {
    Observation passed;
    passed.subject = {"a", HealthSubjectKind::kDevice, uuid};
    passed.kind = ObservationKind::kRetestPassed;
    passed.at = now_;
    watch_->observe({passed});
  }

  std::string state_dir_;
  NodeSpec spec_;
  Inventory inventory_ = fake_inventory(2);
  FakeDevices devices_{inventory_};
  FakeKernelLog log_;
  health::DiskRoom room_{gibibytes(50), gibibytes(100)};
  std::set<std::string> missing_;
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

TEST_F(HealthWatchTest, reads_in_the_kernels_log_which_device_failed) {
  log_.say("NVRM: Xid (PCI:0000:c1:00): 94, pid=12, name=python, Contained error", boot_us_);
  look();
  ASSERT_EQ(watch_->report().incidents.size(), 1u);
  EXPECT_EQ(watch_->report().incidents[0].subject.name, "fake-0") << "known by its PCI address";
  EXPECT_EQ(watch_->report().incidents[0].cause, "xid_94");
}

TEST_F(HealthWatchTest, counts_a_fault_once_that_the_log_and_the_driver_tell) {
  log_.say("NVRM: Xid (PCI:0000:c1:00): 94, pid=12, name=python, Contained error",
           boot_us_ + 500'000);
  devices_.add_fault(fault(FaultKind::kXid, 94));
  look();
  ASSERT_EQ(watch_->report().incidents.size(), 1u);
  const std::string once = watch_->report().incidents[0].story;
  EXPECT_EQ(once.find("seen 2 times"), std::string::npos) << once;
  devices_.add_fault(fault(FaultKind::kXid, 94));
  look();
  const std::string twice = watch_->report().incidents[0].story;
  EXPECT_NE(twice.find("seen 2 times"), std::string::npos) << twice << ": a second one is another";
}

TEST_F(HealthWatchTest, knows_after_a_restart_what_it_knew) {
  devices_.add_fault(fault(FaultKind::kXid, 79));
  look();
  start();
  EXPECT_TRUE(is_quarantined("fake-0"));
  EXPECT_EQ(watch_->report().incidents.size(), 1u);
}

TEST_F(HealthWatchTest, a_device_that_is_back_has_to_pass_a_test_before_it_works_again) {
  lose_first();
  EXPECT_EQ(of("fake-0")->ends_by, "recovery, reboot or operator");
  devices_.set_inventory(inventory_);
  EXPECT_TRUE(look()) << "its return is told";
  EXPECT_TRUE(is_quarantined("fake-0")) << "being there is not enough";
  EXPECT_NE(of("fake-0")->ends_by.find("re-test"), std::string::npos) << of("fake-0")->ends_by;
  passes("fake-0");
  look();
  EXPECT_FALSE(is_quarantined("fake-0"));
  EXPECT_TRUE(of("fake-0")->on_probation);
}

TEST_F(HealthWatchTest, a_device_that_comes_back_after_a_restart_of_the_agent_is_told_as_well) {
  lose_first();
  spec_.devices = {inventory_.devices[1]};  // what the new agent finds
  start();
  look();
  EXPECT_EQ(of("fake-0")->ends_by, "recovery, reboot or operator");
  devices_.set_inventory(inventory_);
  look();
  EXPECT_NE(of("fake-0")->ends_by.find("re-test"), std::string::npos) << of("fake-0")->ends_by;
}

TEST_F(HealthWatchTest, a_device_that_was_lost_while_no_agent_ran_comes_back_by_a_test) {
  devices_.set_inventory({{inventory_.devices[1]}, {}});
  missing_ = {"fake-0"};
  start();
  look();
  EXPECT_TRUE(is_quarantined("fake-0"));
  EXPECT_EQ(of("fake-0")->cause, "device_lost");
  devices_.set_inventory(inventory_);
  look();
  passes("fake-0");
  look();
  EXPECT_FALSE(is_quarantined("fake-0"));
}

TEST_F(HealthWatchTest, a_split_device_is_back_when_its_slices_are) {
  for (Device& device : inventory_.devices) device.parent_uuid = "whole";
  spec_.devices = inventory_.devices;
  start();
  devices_.set_inventory({});
  devices_.add_fault({"whole", FaultKind::kLost, 0, WallTime{}, "gone"});
  look();
  EXPECT_TRUE(is_quarantined("fake-0") && is_quarantined("fake-1"));
  devices_.set_inventory(inventory_);
  look();
  EXPECT_NE(of("fake-0")->ends_by.find("re-test"), std::string::npos) << of("fake-0")->ends_by;
}

TEST_F(HealthWatchTest, an_operator_ends_a_quarantine_and_the_incident_says_who_and_why) {
  devices_.add_fault(fault(FaultKind::kXid, 95));
  look();
  const HealthSubject ill{"a", HealthSubjectKind::kDevice, "fake-0"};
  const HealthSubject well{"a", HealthSubjectKind::kDevice, "fake-1"};
  EXPECT_EQ(watch_->clear(well, "ada", now_).error().code, Code::kNotFound);
  ASSERT_TRUE(watch_->clear(ill, "ada: new board", now_).ok());
  EXPECT_TRUE(look());
  EXPECT_FALSE(is_quarantined("fake-0"));
  EXPECT_TRUE(of("fake-0") != nullptr && of("fake-0")->on_probation);
  EXPECT_EQ(watch_->report().incidents[0].ended_by, "an operator cleared it: ada: new board");
}

TEST_F(HealthWatchTest, a_check_that_passes_matters_only_where_it_failed) {
  Observation seen;
  seen.subject = {"a", HealthSubjectKind::kDevice, "fake-0"};
  seen.kind = ObservationKind::kCheckResult;
  seen.at = now_;
  seen.detail = "fans";
  seen.code = 2;
  watch_->observe({seen});
  look();
  EXPECT_TRUE(is_quarantined("fake-0"));
  EXPECT_EQ(watch_->why_no_work({inventory_.devices[1]}), "");
  EXPECT_NE(watch_->why_no_work({inventory_.devices[0]}).find("check_fans"), std::string::npos);
  seen.code = 0;
  seen.at = now_;
  watch_->observe({seen});
  look();
  EXPECT_FALSE(is_quarantined("fake-0"));
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

TEST_F(HealthWatchTest, a_low_disk_takes_no_work_until_there_is_half_as_much_again) {
  const std::vector<Device> none;
  look();
  EXPECT_EQ(watch_->why_no_work(none), "");
  room_.left = mebibytes(63);
  look();
  EXPECT_TRUE(watch_->is_disk_low());
  EXPECT_NE(watch_->why_no_work(none).find("are free at " + state_dir_), std::string::npos)
      << watch_->why_no_work(none);
  start();
  EXPECT_TRUE(watch_->is_disk_low()) << "a fresh agent knows";
  room_.left = mebibytes(80);
  look();
  Observation passed;
  passed.subject = {"a", HealthSubjectKind::kNode, {}};
  passed.kind = ObservationKind::kRetestPassed;
  passed.at = now_;
  watch_->observe({passed});
  look();
  EXPECT_TRUE(watch_->is_disk_low()) << "neither a little room nor another test ends it";
  room_.left = mebibytes(96);
  look();
  EXPECT_FALSE(watch_->is_disk_low());
  EXPECT_EQ(watch_->why_no_work(none), "");
}

}  // namespace
}  // namespace keiko::agent
