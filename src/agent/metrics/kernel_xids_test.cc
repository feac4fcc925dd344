#include "agent/metrics/kernel_xids.h"

#include <gtest/gtest.h>

#include "ports/clock_fake.h"
#include "ports/devices_fake.h"
#include "ports/testing/devices_lent.h"
#include "ports/testing/kernel_log_fake.h"

namespace keiko::agent {
namespace {

/// One whole GPU and one that is split into two slices.
Inventory inventory_of_three() {
  Inventory inventory = fake_inventory(3);
  inventory.devices[0].pci_address = "0000:3b:00.0";
  for (size_t i : {1, 2}) {
    inventory.devices[i].pci_address = "0000:c1:00.0";
    inventory.devices[i].parent_uuid = "split";
  }
  return inventory;
}

class KernelXidsTest : public testing::Test {
 protected:
  KernelXidsTest() {
    auto log = std::make_unique<FakeKernelLog>();
    log_ = log.get();
    kernel_ = std::make_unique<KernelXids>(std::move(log), readings_);
    machine_.set_stats({"fake-1", {{"gpu_instance", 1}, {"power_watts", 90}}});
    machine_.set_stats({"fake-2", {{"gpu_instance", 5}}});
    look();
  }

  /// A second of both sources.
  void look() {
    clock_->advance(seconds(1));
    static_cast<void>(MUST(readings_->read()));
    static_cast<void>(MUST(kernel_->read()));
  }
  void event(const std::string& uuid, int64_t xid) {
    machine_.add_fault({uuid, FaultKind::kXid, xid, {}, "an event"});
  }
  void line(const std::string& where, int64_t xid) {
    log_->say("NVRM: Xid (PCI:" + where + "): " + std::to_string(xid) + ", pid=7, name=python");
  }
  std::map<int64_t, int64_t> counts(const std::string& key) {
    const auto xids = readings_->terms("n1").xids;
    const auto found = xids.find(key);
    return found == xids.end() ? std::map<int64_t, int64_t>{} : found->second.counts;
  }

  using Counts = std::map<int64_t, int64_t>;
  FakeDevices machine_{inventory_of_three()};
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(Time{} + seconds(1000));
  std::shared_ptr<DeviceReadings> readings_ = std::make_shared<DeviceReadings>(
      [this]() -> Result<std::unique_ptr<Devices>> {
        return std::unique_ptr<Devices>(new LentDevices(machine_));
      }, clock_);
  FakeKernelLog* log_ = nullptr;
  std::unique_ptr<KernelXids> kernel_;
};

TEST_F(KernelXidsTest, count_what_only_the_log_tells_and_once_what_both_tell) {
  line("0000:3b:00", 79);
  line("0000:3b:00", 31);
  event("fake-0", 31);
  look();
  EXPECT_EQ(counts("fake-0"), (Counts{{31, 1}, {79, 1}}));
  event("fake-0", 31);
  look();
  line("0000:3b:00", 31);  // a second late
  look();
  EXPECT_EQ(counts("fake-0"), (Counts{{31, 2}, {79, 1}}));
}

TEST_F(KernelXidsTest, give_an_xid_to_the_slice_that_its_line_names) {
  line("0000:c1:00 GPU-I:05", 43);
  event("fake-2", 43);
  line("0000:c1:00", 62);
  event("split", 62);
  look();
  EXPECT_EQ(counts("fake-2"), (Counts{{43, 1}}));
  EXPECT_EQ(counts("split"), (Counts{{62, 1}}));
  EXPECT_EQ(counts("fake-1"), Counts{});
}

TEST_F(KernelXidsTest, keep_the_address_of_a_gpu_that_nobody_knows) {
  line("0000:99:00", 79);
  look();
  EXPECT_EQ(counts("0000:99:00.0"), (Counts{{79, 1}}));
}

TEST_F(KernelXidsTest, pass_over_what_was_before_the_agent_and_go_on_without_a_log) {
  auto log = std::make_unique<FakeKernelLog>();
  FakeKernelLog& lines = *log;
  lines.say("NVRM: Xid (PCI:0000:3b:00): 79, pid=7");
  KernelXids later(std::move(log), readings_);
  static_cast<void>(MUST(later.read()));
  EXPECT_EQ(counts("fake-0"), Counts{});
  lines.fail_with(unavailable("no right"));
  EXPECT_TRUE(later.read().ok());
  lines.fail_with({Code::kOk, {}, {}});
  lines.say("NVRM: Xid (PCI:0000:3b:00): 31, pid=7");
  lines.say("usb 1-1: new device");
  static_cast<void>(MUST(later.read()));
  EXPECT_EQ(counts("fake-0"), (Counts{{31, 1}}));
}

TEST_F(KernelXidsTest, leave_the_number_of_an_instance_out_of_the_readings) {
  const auto readings = MUST(readings_->read());
  EXPECT_EQ(readings.at(1), (Reading{{SubjectKind::kDevice, "fake-1"}, {{"power_watts", 90}}}));
  EXPECT_EQ(readings_->terms("n1").gpu_instances.at("fake-2"), 5);
}

}  // namespace
}  // namespace keiko::agent
