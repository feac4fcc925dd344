// What went wrong with GPUs, and that it is told once.
#include "drivers/devices/nvml/nvml_faults.h"

#include <gtest/gtest.h>

#include "drivers/devices/nvml/nvml_fixture.h"

namespace keiko {
namespace {

TEST(NvmlFaults, tell_an_xid_once_with_its_device) {
  FakeNvml machine("h100x8_nvswitch");
  NvmlDevices devices(machine.options());
  const std::string uuid = MUST(devices.fingerprint()).devices[3].uuid;
  EXPECT_TRUE(MUST(devices.faults()).empty());
  machine.raise(uuid, 63);
  machine.raise(uuid, 94);
  const auto faults = MUST(devices.faults());
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].code, 63);
  EXPECT_EQ(faults[1].code, 94);
  EXPECT_EQ(faults[1].kind, FaultKind::kXid);
  EXPECT_EQ(faults[1].uuid, uuid);
  EXPECT_GT(faults[1].at.ns, 0);
  EXPECT_EQ(faults[1].text, "XID 94 on NVIDIA H100 80GB HBM3 at 0000:61:00.0");
  EXPECT_TRUE(MUST(devices.faults()).empty());
}

TEST(NvmlFaults, tell_of_memory_errors_beside_xids) {
  FakeNvml machine("h100x8_nvswitch");
  NvmlDevices devices(machine.options());
  const std::string uuid = MUST(devices.fingerprint()).devices[0].uuid;
  machine.raise(uuid, 0, "\"type\": 2");
  machine.raise(uuid, 0, "\"type\": 16");  // a change of clocks, which nobody asked for
  const auto faults = MUST(devices.faults());
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].kind, FaultKind::kEcc);
}

TEST(NvmlFaults, tell_xids_of_a_gpu_that_knows_no_memory_errors) {
  FakeNvml machine("rtx4090x2_workstation");  // its event types are XID and clock alone
  NvmlDevices devices(machine.options());
  const std::string uuid = MUST(devices.fingerprint()).devices[1].uuid;
  machine.raise(uuid, 79);
  EXPECT_EQ(MUST(devices.faults()).at(0).code, 79);
}

TEST(NvmlFaults, blame_the_slice_or_else_the_whole_gpu) {
  FakeNvml machine("a100_mig");
  NvmlDevices devices(machine.options());
  const Inventory inventory = MUST(devices.fingerprint());
  const std::string gpu = inventory.devices[0].parent_uuid;
  machine.raise(gpu, 43, "\"gi\": 3, \"ci\": 0");
  machine.raise(gpu, 79);
  const auto faults = MUST(devices.faults());
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].uuid, inventory.devices[1].uuid);
  EXPECT_NE(faults[0].text.find("slice 2g.10gb"), std::string::npos) << faults[0].text;
  EXPECT_EQ(faults[1].uuid, gpu);
}

TEST(NvmlFaults, drain_a_storm_in_parts_and_miss_nothing) {
  FakeNvml machine("a100x4_pcie");
  NvmlDevices devices(machine.options());
  const std::string uuid = MUST(devices.fingerprint()).devices[0].uuid;
  std::string storm;
  for (int id = 1; id <= 2500; ++id) {
    storm += std::string(storm.empty() ? "" : ",") + "{\"id\": " + std::to_string(id) +
             ", \"uuid\": \"" + uuid + "\", \"xid\": 31}";
  }
  machine.set("/events", "[" + storm + "]");
  size_t told = 0;
  for (int i = 0; i < 4; ++i) {
    const size_t part = MUST(devices.faults()).size();
    EXPECT_LE(part, 1000u);
    told += part;
  }
  EXPECT_EQ(told, 2500u);
}

/// A GPU that no longer answers, and one that is no longer counted.
class NvmlLoss : public testing::TestWithParam<bool> {
 protected:
  void take(FakeNvml& machine) {
    if (GetParam()) machine.set("/gpus/2/lost", "true");
    else machine.remove("/gpus/2");
  }
};
INSTANTIATE_TEST_SUITE_P(SilentOrGone, NvmlLoss, testing::Bool());

TEST_P(NvmlLoss, is_told_once_by_whatever_verb_comes_first) {
  for (int first = 0; first < 3; ++first) {
    FakeNvml machine("h100x8_nvswitch");
    NvmlDevices devices(machine.options());
    const std::string uuid = MUST(devices.fingerprint()).devices[2].uuid;
    machine.raise(uuid, 79);
    take(machine);
    if (first == 1) {
      EXPECT_EQ(MUST(devices.stats()).size(), 8u);
    }
    if (first == 2) {
      EXPECT_EQ(MUST(devices.fingerprint()).devices.size(), 7u);
    }
    int lost = 0;
    int xids = 0;
    for (int i = 0; i < 3; ++i) {
      for (const DeviceFault& fault : MUST(devices.faults())) {
        EXPECT_EQ(fault.uuid, uuid);
        lost += fault.kind == FaultKind::kLost ? 1 : 0;
        xids += fault.code == 79 ? 1 : 0;
      }
      MUST(devices.stats());
      MUST(devices.fingerprint());
    }
    EXPECT_EQ(lost, 1) << first;
    EXPECT_EQ(xids, 1) << "what the GPU said last is not lost with it; " << first;
  }
}

TEST_P(NvmlLoss, takes_only_that_device_away) {
  FakeNvml machine("h100x8_nvswitch");
  NvmlDevices devices(machine.options());
  const Inventory before = MUST(devices.fingerprint());
  take(machine);
  MUST(devices.faults());
  const std::string& uuid = before.devices[2].uuid;
  EXPECT_EQ(devices.visibility({uuid}).error().code, Code::kNotFound);
  EXPECT_EQ(devices.processes(uuid).error().code, Code::kNotFound);
  EXPECT_TRUE(devices.visibility({before.devices[3].uuid}).ok());
  const Inventory after = MUST(devices.fingerprint());
  ASSERT_EQ(after.devices.size(), 7u);
  EXPECT_EQ(after.devices[2].uuid, before.devices[3].uuid);
  EXPECT_EQ(after.devices[2].index, 2);
  EXPECT_EQ(after.links.size(), 21u);
}

TEST_P(NvmlLoss, ends_when_the_gpu_is_back_and_may_happen_again) {
  FakeNvml machine("h100x8_nvswitch");
  NvmlDevices devices(machine.options());
  const Inventory before = MUST(devices.fingerprint());
  take(machine);
  EXPECT_EQ(MUST(devices.faults()).size(), 1u);
  if (GetParam()) {
    machine.set("/gpus/2/lost", "false");
  } else {
    machine.set("/gpus/-", "{\"uuid\": \"" + before.devices[2].uuid +
                               "\", \"pci\": \"0000:52:00.0\", \"minor\": 2}");
  }
  EXPECT_EQ(MUST(devices.fingerprint()).devices[2].uuid, before.devices[2].uuid);
  EXPECT_TRUE(MUST(devices.faults()).empty());
  machine.set(GetParam() ? "/gpus/2/lost" : "/gpus/7/lost", "true");
  EXPECT_EQ(MUST(devices.faults()).size(), 1u);
}

TEST(NvmlFaults, name_a_gpu_that_never_answered) {
  FakeNvml machine("h100x8_nvswitch");
  machine.set("/gpus/6/lost", "true");
  NvmlDevices devices(machine.options());
  EXPECT_EQ(MUST(devices.fingerprint()).devices.size(), 7u);
  const auto faults = MUST(devices.faults());
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].kind, FaultKind::kLost);
  EXPECT_NE(faults[0].text.find("GPU 6"), std::string::npos) << faults[0].text;
  MUST(devices.fingerprint());
  EXPECT_TRUE(MUST(devices.faults()).empty());
}

TEST(NvmlFaults, empty_the_readings_of_a_lost_device) {
  FakeNvml machine("h100x8_nvswitch");
  NvmlDevices devices(machine.options());
  MUST(devices.fingerprint());
  machine.set("/gpus/4/lost", "true");
  const auto readings = MUST(devices.stats());
  ASSERT_EQ(readings.size(), 8u);
  EXPECT_TRUE(readings[4].values.empty());
  EXPECT_FALSE(readings[5].values.empty());
}

}  // namespace
}  // namespace keiko
