#include "drivers/devices/nvml/nvml_stats.h"

#include <gtest/gtest.h>

#include "drivers/devices/nvml/nvml_fixture.h"

namespace keiko {
namespace {

TEST(NvmlStats, tell_all_of_a_gpu_in_our_units) {
  FakeNvml machine("h100x8_nvswitch");
  const std::pair<const char*, const char*> kChanges[] = {
      {"utilisation", R"({"gpu": 97, "memory": 40, "encoder": 1, "decoder": 2})"},
      {"memory/used_mib", "70000"},
      {"temperature", "61"},
      {"memory_temperature", "72"},
      {"power_mw", "655321"},
      {"energy_mj", "5000000001"},
      {"clocks", R"({"sm": 1980, "memory": 2619})"},
      {"throttle", "36"},
      {"ecc", R"({"corrected_volatile": 3, "corrected_aggregate": 4,
                  "uncorrected_volatile": 1, "uncorrected_aggregate": 2})"},
      {"sram", R"({"parity": 2, "secded": 3, "exceeded": 1})"},
      {"rows", "[5, 6, 1, 0]"},
      {"nvlink_errors", "[1, 2, 3, 4]"},
      {"nvlink_kib", "[10, 20]"},
      {"pcie/replays", "9"},
      {"recovery_action", "4"}};
  for (const auto& [at, value] : kChanges) machine.set(std::string("/gpus/1/") + at, value);
  NvmlDevices devices(machine.options());
  auto values = MUST(devices.stats())[1].values;
  const std::map<std::string, double> expected = {
      {"utilisation_ratio", 0.97},
      {"memory_utilisation_ratio", 0.40},
      {"encoder_ratio", 0.01},
      {"decoder_ratio", 0.02},
      {"memory_total_bytes", (81559.0 - 551) * 1048576},
      {"memory_used_bytes", 70000.0 * 1048576},
      {"memory_free_bytes", (81559.0 - 551 - 70000) * 1048576},
      {"memory_reserved_bytes", 551.0 * 1048576},
      {"temperature_celsius", 61},
      {"memory_temperature_celsius", 72},
      {"power_watts", 655.321},
      {"power_limit_watts", 700},
      {"energy_joules", 5000000.001},
      {"sm_clock_mhz", 1980},
      {"memory_clock_mhz", 2619},
      {"throttle_reasons", 0x24},
      {"ecc_corrected_volatile", 3},
      {"ecc_corrected_aggregate", 4},
      {"ecc_uncorrected_volatile", 1},
      {"ecc_uncorrected_aggregate", 2},
      {"sram_uncorrected_aggregate", 5},
      {"sram_threshold_exceeded", 1},
      {"rows_remapped_correctable", 5},
      {"rows_remapped_uncorrectable", 6},
      {"row_remap_pending", 1},
      {"row_remap_failed", 0},
      {"nvlinks_present", 18},
      {"nvlinks_active", 18},
      {"nvlink_replays", 18},
      {"nvlink_recoveries", 36},
      {"nvlink_crc_flit_errors", 54},
      {"nvlink_crc_data_errors", 72},
      {"nvlink_sent_bytes", 10 * 1024},
      {"nvlink_received_bytes", 20 * 1024},
      {"pcie_replays", 9},
      {"pcie_generation", 5},
      {"pcie_lanes", 16},
      {"recovery_action", 4}};
  for (const auto& [name, value] : expected) {
    ASSERT_EQ(values.count(name), 1u) << name;
    EXPECT_NEAR(values[name], value, 1e-9 * std::max(1.0, value)) << name;
    values.erase(name);
  }
  EXPECT_TRUE(values.empty()) << values.begin()->first << " is not expected";
}

TEST(NvmlStats, tell_activity_between_two_readings_and_none_before) {
  FakeNvml machine("h100x8_nvswitch");
  machine.set("/gpus/0/activity",
              R"({"1": 90.0, "2": 100.2, "3": 25.0, "5": 12.5, "10": 40.0, "20": 2.0,
                  "60": 1000.0, "61": null})");
  NvmlDevices devices(machine.options());
  EXPECT_EQ(MUST(devices.stats())[0].values.count("sm_active_ratio"), 0u);
  const auto values = MUST(devices.stats())[0].values;
  EXPECT_DOUBLE_EQ(values.at("sm_active_ratio"), 1.0) << "a rounding above the whole is the whole";
  EXPECT_DOUBLE_EQ(values.at("graphics_active_ratio"), 0.9);
  EXPECT_DOUBLE_EQ(values.at("sm_occupancy_ratio"), 0.25);
  EXPECT_DOUBLE_EQ(values.at("tensor_active_ratio"), 0.125);
  EXPECT_DOUBLE_EQ(values.at("dram_active_ratio"), 0.4);
  EXPECT_DOUBLE_EQ(values.at("pcie_sent_bytes_per_s"), 2.0 * 1048576);
  EXPECT_DOUBLE_EQ(values.at("nvlink_received_bytes_per_s"), 1000.0 * 1048576);
  EXPECT_EQ(values.count("nvlink_sent_bytes_per_s"), 0u) << "the GPU did not tell";
}

TEST(NvmlStats, repeat_activity_within_its_interval) {
  FakeNvml machine("h100x8_nvswitch");
  NvmlDevicesOptions options = machine.options();
  options.activity_interval = hours(1);
  NvmlDevices devices(options);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(MUST(devices.stats())[0].values.count("sm_active_ratio"), 0u)
        << "no second sample yet";
  }
}

TEST(NvmlStats, follow_the_machine_as_it_changes) {
  FakeNvml machine("a100x4_pcie");
  NvmlDevices devices(machine.options());
  EXPECT_EQ(MUST(devices.stats())[2].values.at("temperature_celsius"), 29);
  machine.set("/gpus/2/temperature", "88");
  EXPECT_EQ(MUST(devices.stats())[2].values.at("temperature_celsius"), 88);
  machine.remove("/gpus/2/temperature");
  machine.remove("/defaults/temperature");
  EXPECT_EQ(MUST(devices.stats())[2].values.count("temperature_celsius"), 0u);
}

TEST(NvmlStats, give_a_slice_its_memory_and_its_gpu_s_condition_but_no_share_of_the_rest) {
  FakeNvml machine("a100_mig");
  machine.set("/gpus/0/mig/slices/0/memory/used_mib", "100");
  NvmlDevices devices(machine.options());
  const auto values = MUST(devices.stats())[0].values;
  EXPECT_EQ(values.at("memory_total_bytes"), 19968.0 * 1048576);
  EXPECT_EQ(values.at("memory_used_bytes"), 100.0 * 1048576);
  EXPECT_EQ(values.at("temperature_celsius"), 33);
  EXPECT_EQ(values.at("gpu_instance"), 1) << "what boards tell slices apart by";
  for (const char* const absent : {"power_watts", "energy_joules", "utilisation_ratio",
                                   "nvlinks_present", "pcie_replays"}) {
    EXPECT_EQ(values.count(absent), 0u) << absent;
  }
}

TEST(NvmlStats, tell_memory_of_an_old_library_without_a_reserve) {
  FakeNvml machine("a100x4_pcie");
  machine.set("/answers/nvmlDeviceGetMemoryInfo_v2", "13");
  NvmlDevices devices(machine.options());
  EXPECT_EQ(MUST(devices.fingerprint()).devices[0].memory, mebibytes(40960));
  EXPECT_EQ(MUST(devices.stats())[0].values.at("memory_used_bytes"), 588.0 * 1048576);
}

}  // namespace
}  // namespace keiko
