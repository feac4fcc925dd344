// What the driver does when the library or the hardware misbehaves: missing functions, refusals,
// nonsense, a GPU that falls off the bus.
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "drivers/devices/nvml/nvml_fixture.h"

namespace keiko {
namespace {

std::vector<std::string> every_function() {
  std::vector<std::string> names;
#define KEIKO_NVML_NAME(name, parameters) names.push_back(#name);
  KEIKO_NVML_FUNCTIONS(KEIKO_NVML_NAME)
#undef KEIKO_NVML_NAME
  return names;
}

constexpr const char* kShapes[] = {"h100x8_nvswitch", "a100x4_pcie", "rtx4090x2_workstation",
                                   "a100_mig"};

/// Functions without which there is nothing to offer.
bool is_vital(const std::string& function) {
  static const std::set<std::string> kVital = {"nvmlInit_v2", "nvmlDeviceGetCount_v2",
                                               "nvmlDeviceGetHandleByIndex_v2",
                                               "nvmlDeviceGetUUID"};
  return kVital.count(function) != 0;
}

/// Calls every verb. RETURNS: how many devices were found, -1 for an error with a sentence.
int use(NvmlDevices& devices) {
  const auto inventory = devices.fingerprint();
  if (!inventory.ok()) {
    EXPECT_FALSE(inventory.error().message.empty());
    return -1;
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(MUST(devices.stats()).size(), inventory->devices.size());
  }
  for (const Device& device : inventory->devices) {
    EXPECT_GT(device.memory.count, 0);
    EXPECT_TRUE(devices.visibility({device.uuid}).ok());
    const auto processes = devices.processes(device.uuid);
    EXPECT_TRUE(processes.ok() || processes.error().code == Code::kUnimplemented);
  }
  EXPECT_TRUE(devices.faults().ok());
  return static_cast<int>(inventory->devices.size());
}

TEST(NvmlRobust, does_without_any_function_that_a_library_may_lack) {
  for (const char* const shape : kShapes) {
    const FakeNvml machine(shape);
    NvmlDevices whole(machine.options());
    const int count = use(whole);
    ASSERT_GT(count, 0);
    for (const std::string& function : every_function()) {
      NvmlDevicesOptions options = machine.options();
      options.ignored_functions = {function};
      NvmlDevices devices(options);
      const int found = use(devices);
      // Without what tells of slices there is the other, whole GPU at least.
      const int least = shape == std::string("a100_mig") ? 1 : count;
      if (!is_vital(function)) {
        EXPECT_GE(found, least) << shape << " without " << function;
      }
    }
  }
}

TEST(NvmlRobust, does_without_any_function_that_a_gpu_refuses) {
  for (const std::string& function : every_function()) {
    for (const int answer : {3, 4, 15, 999}) {
      FakeNvml machine("a100_mig");
      machine.set("/answers/" + function, std::to_string(answer));
      NvmlDevices devices(machine.options());
      const auto inventory = devices.fingerprint();
      if (inventory.ok()) {
        EXPECT_EQ(MUST(devices.stats()).size(), inventory->devices.size()) << function;
      }
      const auto faults = devices.faults();
      if (!is_vital(function) && answer != 15) {
        EXPECT_TRUE(faults.ok()) << function << " " << answer;
      }
    }
  }
}

/// Known since the device was found.
bool is_name(const std::string& reading) {
  return reading == "nvlinks_present" || reading == "gpu_instance";
}

/// RETURNS: "name=value" of every reading that is measured.
std::vector<std::string> readings(NvmlDevices& devices) {
  std::vector<std::string> all;
  for (const DeviceStats& stats : MUST(devices.stats())) {
    for (const auto& [name, value] : stats.values) {
      if (!is_name(name)) all.push_back(name + "=" + std::to_string(value));
    }
  }
  return all;
}

TEST(NvmlRobust, makes_no_number_of_a_sentinel_or_of_nonsense) {
  for (const char* const shape : kShapes) {
    FakeNvml machine(shape);
    NvmlDevices devices(machine.options());
    const size_t count = MUST(devices.fingerprint()).devices.size();
    machine.set("/garbage", "true");
    for (int i = 0; i < 5; ++i) {
      const std::vector<std::string> numbers = readings(devices);
      EXPECT_TRUE(numbers.empty()) << shape << " " << join(numbers, " ");
    }
    for (const Device& device : MUST(devices.fingerprint()).devices) {
      EXPECT_LT(device.memory.count, int64_t{1} << 46);
      EXPECT_EQ(device.host_megabytes_per_s, 0);
    }
    machine.set("/garbage", "false");
    EXPECT_EQ(MUST(devices.fingerprint()).devices.size(), count) << "it heals";
  }
}

TEST(NvmlRobust, leaves_out_what_a_gpu_does_not_have) {
  const FakeNvml machine("rtx4090x2_workstation");
  NvmlDevices devices(machine.options());
  const auto values = MUST(devices.stats())[0].values;
  for (const char* const absent :
       {"ecc_uncorrected_aggregate", "rows_remapped_correctable", "energy_joules",
        "memory_temperature_celsius", "nvlinks_present", "sm_active_ratio", "recovery_action"}) {
    EXPECT_EQ(values.count(absent), 0u) << absent;
  }
  EXPECT_EQ(values.at("temperature_celsius"), 38);
}

TEST(NvmlRobust, says_what_to_do_without_a_library) {
  NvmlDevicesOptions options;
  options.library = "/nonexistent/libnvidia-ml.so.1";
  NvmlDevices devices(options);
  const auto refused = devices.fingerprint();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_NE(refused.error().message.find("/nonexistent/libnvidia-ml.so.1"), std::string::npos);
  EXPECT_NE(refused.error().message.find("--devices cpu"), std::string::npos);
  for (const Code code : {devices.stats().error().code, devices.faults().error().code,
                          devices.processes("GPU-1").error().code}) {
    EXPECT_EQ(code, Code::kNotFound);
  }
}

TEST(NvmlRobust, refuses_a_library_that_is_another) {
  NvmlDevicesOptions options;
  options.library = "libm.so.6";
  EXPECT_EQ(NvmlDevices(options).fingerprint().error().code, Code::kFailedPrecondition);
}

TEST(NvmlRobust, waits_for_a_driver_that_starts_after_the_agent) {
  FakeNvml machine("a100x4_pcie");
  machine.set("/answers/nvmlInit_v2", "9");
  NvmlDevices devices(machine.options());
  const auto early = devices.fingerprint();
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, Code::kUnavailable);
  EXPECT_NE(early.error().message.find("modprobe nvidia"), std::string::npos);
  machine.remove("/answers/nvmlInit_v2");
  EXPECT_EQ(MUST(devices.fingerprint()).devices.size(), 4u);
}

TEST(NvmlRobust, comes_back_after_the_driver_was_replaced_below_it) {
  FakeNvml machine("a100x4_pcie");
  NvmlDevices devices(machine.options());
  ASSERT_TRUE(devices.fingerprint().ok());
  machine.set("/answers/nvmlDeviceGetCount_v2", "18");
  const auto broken = devices.fingerprint();
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().code, Code::kFailedPrecondition);
  EXPECT_NE(broken.error().message.find("reload the module"), std::string::npos);
  EXPECT_FALSE(devices.faults().ok());
  machine.remove("/answers/nvmlDeviceGetCount_v2");
  EXPECT_EQ(MUST(devices.fingerprint()).devices.size(), 4u);
  EXPECT_TRUE(MUST(devices.faults()).empty());
}

TEST(NvmlRobust, finds_nothing_on_a_machine_whose_gpus_are_all_out) {
  FakeNvml machine("a100x4_pcie");
  machine.set("/gpus", "[]");
  NvmlDevices devices(machine.options());
  EXPECT_TRUE(MUST(devices.fingerprint()).devices.empty());
  EXPECT_TRUE(MUST(devices.faults()).empty());
}

}  // namespace
}  // namespace keiko
