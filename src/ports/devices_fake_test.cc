#include "ports/devices_fake.h"

#include <gtest/gtest.h>

#include "ports/devices_conformance.h"

namespace keiko {
namespace {

std::unique_ptr<Devices> make_fake() {
  Inventory inventory = fake_inventory(4);
  inventory.links.push_back({0, 1, LinkKind::kNvlink, 50'000, microseconds(2)});
  return std::make_unique<FakeDevices>(inventory);
}
INSTANTIATE_TEST_SUITE_P(Fake, DevicesConformance, testing::Values(&make_fake));

TEST(FakeDevices, loses_a_device_when_the_test_says_so) {
  FakeDevices devices(fake_inventory(2));
  devices.set_inventory(fake_inventory(1));
  EXPECT_EQ(MUST(devices.fingerprint()).devices.size(), 1u);
  EXPECT_EQ(devices.visibility({"fake-1"}).error().code, Code::kNotFound);
}

TEST(FakeDevices, fails_every_verb_while_it_is_broken) {
  FakeDevices devices(fake_inventory(1));
  devices.fail_with(unavailable("the driver is gone"));
  EXPECT_EQ(devices.fingerprint().error().code, Code::kUnavailable);
  EXPECT_EQ(devices.visibility({}).error().code, Code::kUnavailable);
  EXPECT_EQ(devices.stats().error().code, Code::kUnavailable);
  EXPECT_EQ(devices.processes("fake-0").error().code, Code::kUnavailable);
  EXPECT_EQ(devices.faults().error().code, Code::kUnavailable);
  devices.fail_with({Code::kOk, {}, {}});
  EXPECT_TRUE(devices.fingerprint().ok());
}

TEST(FakeDevices, reads_what_the_test_set) {
  FakeDevices devices(fake_inventory(1));
  devices.set_stats({"fake-0", {{"utilisation_ratio", 0.5}}});
  EXPECT_EQ(MUST(devices.stats())[0].values.at("utilisation_ratio"), 0.5);
}

TEST(FakeDevices, has_orphans_and_faults_by_script) {
  FakeDevices devices(fake_inventory(2));
  devices.set_processes("fake-1", {{4711, gibibytes(3)}});
  devices.add_fault({"fake-1", FaultKind::kXid, 79, {}, "fell off the bus"});
  EXPECT_TRUE(MUST(devices.processes("fake-0")).empty());
  const std::vector<DeviceProcess> orphan{{4711, gibibytes(3)}};
  EXPECT_EQ(MUST(devices.processes("fake-1")), orphan);
  const auto faults = MUST(devices.faults());
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(to_text(faults[0].kind), "xid");
  EXPECT_EQ(faults[0].code, 79);
  EXPECT_TRUE(MUST(devices.faults()).empty()) << "a fault is told once";
}

}  // namespace
}  // namespace keiko
