#include "telemetry/catalogue.h"

#include <gtest/gtest.h>

#include <set>

namespace keiko::telemetry {
namespace {

TEST(Catalogue, has_each_reading_and_each_series_once) {
  std::set<std::pair<SubjectKind, std::string>> readings;
  std::set<std::pair<std::string, std::string>> series;
  std::set<std::string> aliases;
  for (const MetricRow& row : catalogue()) {
    EXPECT_TRUE(readings.insert({row.subject, row.reading}).second) << row.reading;
    EXPECT_TRUE(series.insert({row.name, row.labels}).second) << row.name << row.labels;
    if (row.dcgm.name != nullptr) {
      EXPECT_TRUE(aliases.insert(row.dcgm.name).second) << row.dcgm.name;
    }
    EXPECT_EQ(find_metric(row.subject, row.reading), &row);
  }
  EXPECT_EQ(find_metric(SubjectKind::kDevice, "no_such_reading"), nullptr);
  EXPECT_EQ(find_metric(SubjectKind::kNic, "power_watts"), nullptr) << "a NIC has no such reading";
}

TEST(Catalogue, keeps_series_of_one_name_together_under_one_kind_and_one_help) {
  std::set<std::string> done;
  const MetricRow* before = nullptr;
  for (const MetricRow& row : catalogue()) {
    if (before != nullptr && before->name == std::string_view(row.name)) {
      EXPECT_EQ(before->kind, row.kind) << row.name;
      EXPECT_EQ(before->subject, row.subject) << row.name;
      EXPECT_STREQ(row.help, "") << "the first row of a name carries its help: " << row.name;
      EXPECT_STRNE(row.labels, "") << row.name;
    } else {
      EXPECT_TRUE(done.insert(row.name).second) << row.name << " stands in two places";
      EXPECT_STRNE(row.help, "") << row.name;
    }
    before = &row;
  }
}

TEST(Catalogue, names_kinds_and_units_as_prometheus_would) {
  for (const MetricRow& row : catalogue()) {
    const std::string name = row.name;
    EXPECT_EQ(name.ends_with("_total"), row.kind == MetricKind::kCounter) << name;
    EXPECT_EQ(name.rfind("keiko_", 0), 0u) << name;
    const std::string stem = row.kind == MetricKind::kCounter ? name.substr(0, name.size() - 6)
                                                              : name;
    for (const std::string unit : {"bytes", "seconds", "celsius", "watts", "joules", "hertz",
                                   "ratio"}) {
      EXPECT_EQ(row.unit == unit, stem.ends_with("_" + unit)) << name << " in " << row.unit;
    }
    EXPECT_GT(row.scale, 0) << name;
  }
}

TEST(Catalogue, derives_only_readings_that_it_knows) {
  for (const MetricRow& row : catalogue()) {
    for (const char* const derived : {row.rate, row.flaps}) {
      if (derived == nullptr) continue;
      ASSERT_NE(find_metric(row.subject, derived), nullptr) << derived;
      EXPECT_EQ(find_metric(row.subject, derived)->kind, MetricKind::kGauge) << derived;
      EXPECT_EQ(row.kind, MetricKind::kCounter) << row.reading;
    }
  }
}

TEST(Catalogue, speaks_of_devices_in_the_units_of_dcgm) {
  const auto alias = [](const char* reading) {
    const MetricRow* row = find_metric(SubjectKind::kDevice, reading);
    return std::pair<std::string, double>(row->dcgm.name, row->scale * row->dcgm.scale);
  };
  using Pair = std::pair<std::string, double>;
  EXPECT_EQ(alias("utilisation_ratio"), Pair("DCGM_FI_DEV_GPU_UTIL", 100));
  EXPECT_EQ(alias("energy_joules"), Pair("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 1000));
  EXPECT_EQ(alias("sm_clock_mhz"), Pair("DCGM_FI_DEV_SM_CLOCK", 1));
  EXPECT_EQ(alias("memory_used_bytes"), Pair("DCGM_FI_DEV_FB_USED", 1.0 / (1 << 20)));
  EXPECT_EQ(alias("tensor_active_ratio"), Pair("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 1));
}

}  // namespace
}  // namespace keiko::telemetry
