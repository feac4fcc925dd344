#include "telemetry/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace keiko::telemetry {
namespace {

Time at(int64_t second) { return Time{} + seconds(second); }
const Subject kGpu{SubjectKind::kDevice, "GPU-1"};
const Subject kNic{SubjectKind::kNic, "eth0"};

double latest_of(const Record& record, Time now, const Subject& subject, const std::string& name) {
  for (const Reading& reading : record.latest(now)) {
    if (!(reading.subject == subject)) continue;
    const auto found = reading.values.find(name);
    if (found != reading.values.end()) return found->second;
  }
  return std::nan("");
}

TEST(Record, shows_the_newest_and_drops_what_a_source_no_longer_tells) {
  Record record({});
  record.put("gpus", at(1), {{kGpu, {{"power_watts", 300}, {"temperature_celsius", 50}}}});
  record.put("nics", at(1), {{kNic, {{"up", 1}}}});
  record.put("gpus", at(2), {{kGpu, {{"power_watts", 310}}}});
  EXPECT_EQ(latest_of(record, at(2), kGpu, "power_watts"), 310);
  EXPECT_TRUE(std::isnan(latest_of(record, at(2), kGpu, "temperature_celsius")));
  EXPECT_EQ(latest_of(record, at(2), kNic, "up"), 1);
}

TEST(Record, does_not_show_the_last_words_of_a_source_that_hangs_as_the_present) {
  Record record({});
  record.put("gpus", at(1), {{kGpu, {{"power_watts", 300}}}});
  record.put("nics", at(11), {{kNic, {{"up", 1}}}});
  EXPECT_EQ(latest_of(record, at(11), kGpu, "power_watts"), 300);
  EXPECT_TRUE(std::isnan(latest_of(record, at(12), kGpu, "power_watts")));
  EXPECT_EQ(record.past("keiko_device_power_watts", "", at(12)).size(), 1u) << "it is past";
}

TEST(Record, never_makes_a_number_of_what_is_none) {
  Record record({});
  const double nan = std::nan("");
  record.put("gpus", at(1), {{kGpu, {{"power_watts", nan},
                                     {"energy_joules", std::numeric_limits<double>::infinity()},
                                     {"no_such_reading", 4}}}});
  ASSERT_EQ(record.latest(at(1)).size(), 1u);
  EXPECT_TRUE(record.latest(at(1))[0].values.empty());
  EXPECT_EQ(record.unknown_count(), 1);
  EXPECT_EQ(record.series_count(), 0u);
}

TEST(Record, derives_rates_of_a_nic_and_keeps_counting_through_its_wrap) {
  Record record({});
  record.put("nics", at(1), {{kNic, {{"received_bytes", 4294967200.0}}}});
  EXPECT_TRUE(std::isnan(latest_of(record, at(1), kNic, "received_bytes_per_s")));
  record.put("nics", at(3), {{kNic, {{"received_bytes", 904}}}});
  EXPECT_EQ(latest_of(record, at(3), kNic, "received_bytes_per_s"), 500) << "1000 bytes in 2 s";
  EXPECT_EQ(latest_of(record, at(3), kNic, "received_bytes"), 4294968200.0);
}

TEST(Record, calls_a_nic_flapping_that_fell_three_times) {
  Record record({});
  for (int fall = 0; fall <= 3; ++fall) {
    record.put("nics", at(10 * fall + 10), {{kNic, {{"falls", fall}}}});
    EXPECT_EQ(latest_of(record, at(10 * fall + 10), kNic, "flapping"), fall == 3 ? 1 : 0);
  }
}

TEST(Record, keeps_increases_over_a_counter_that_began_again_and_says_how_often) {
  Record record({});
  record.put("gpus", at(1), {{kGpu, {{"energy_joules", 1000}}}});
  record.put("gpus", at(2), {{kGpu, {{"energy_joules", 1500}}}});
  record.put("gpus", at(3), {{kGpu, {{"energy_joules", 20}}}});  // the driver was loaded again
  EXPECT_EQ(latest_of(record, at(3), kGpu, "energy_joules"), 20) << "as the device shows it";
  const auto past = record.past("keiko_device_energy_joules_total", "GPU-1", at(3));
  ASSERT_EQ(past.size(), 1u);
  EXPECT_EQ(past[0].resets, 1);
  ASSERT_EQ(past[0].fine.size(), 3u);
  EXPECT_EQ(past[0].fine.back().mean - past[0].fine.front().mean, 520);
  EXPECT_EQ(past[0].coarse.back().mean, 1520) << "the restart within ten seconds is not lost";
}

TEST(Record, keeps_the_past_in_the_units_that_it_shows) {
  Record record({});
  record.put("gpus", at(1), {{kGpu, {{"sm_clock_mhz", 1980}}}});
  EXPECT_NEAR(record.past("keiko_device_core_clock_hertz", "", at(1))[0].fine[0].mean, 1.98e9, 100);
}

TEST(Record, gives_the_room_of_who_has_gone_to_who_is_here) {
  RecordOptions options;
  options.series_most = 3;
  Record record(options);
  const auto worker = [](int n) {
    return Subject{SubjectKind::kWorker, "j" + std::to_string(n) + ".1.0"};
  };
  for (int n = 0; n < 3; ++n) {
    record.put("workers", at(n), {{worker(n), {{"memory_used_bytes", n}}}});
  }
  record.put("workers", at(4), {{worker(3), {{"memory_used_bytes", 3}}}});
  EXPECT_TRUE(record.past("keiko_worker_memory_used_bytes", "j3.1.0", at(4)).empty())
      << "nobody has been gone for long enough";
  EXPECT_EQ(latest_of(record, at(4), worker(3), "memory_used_bytes"), 3) << "shown all the same";
  record.put("workers", at(11), {{worker(3), {{"memory_used_bytes", 3}}}});
  EXPECT_EQ(record.past("keiko_worker_memory_used_bytes", "j3.1.0", at(11)).size(), 1u);
  EXPECT_TRUE(record.past("keiko_worker_memory_used_bytes", "j0.1.0", at(11)).empty());
  EXPECT_EQ(record.series_count(), 3u);
}

TEST(Record, forgets_what_has_gone_for_as_long_as_it_remembers) {
  Record record({});
  record.put("nics", at(1), {{kNic, {{"received_bytes", 1}, {"up", 1}}}});
  record.put("nics", at(21'600), {});
  EXPECT_EQ(record.series_count(), 2u);
  record.put("nics", at(21'602), {});
  EXPECT_EQ(record.series_count(), 0u);
}

TEST(Record, holds_eight_gpus_and_a_dozen_nics_in_25_megabytes) {
  Record record({});
  std::vector<Reading> readings;
  const auto add = [&](SubjectKind kind, int count) {
    for (int i = 0; i < count; ++i) {
      Reading reading{{kind, std::to_string(i)}, {}};
      for (const MetricRow& row : catalogue()) {
        if (row.subject == kind) reading.values[row.reading] = 1;
      }
      readings.push_back(std::move(reading));
    }
  };
  add(SubjectKind::kDevice, 8);
  add(SubjectKind::kNode, 1);
  add(SubjectKind::kNic, 12);
  add(SubjectKind::kRdma, 11);
  add(SubjectKind::kDisk, 4);
  add(SubjectKind::kWorker, 8);
  for (int s = 0; s < 3; ++s) record.put("all", at(s), readings);
  EXPECT_LT(record.size_bytes(), 25'000'000u);
  EXPECT_LE(record.series_count(), RecordOptions{}.series_most);
}

}  // namespace
}  // namespace keiko::telemetry
