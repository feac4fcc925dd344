#include "core/health/checks/reading_findings.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/health/health_fixture.h"

namespace keiko::health {
namespace {

using Kind = ObservationKind;

class ReadingFindingsTest : public testing::Test {
 protected:
  /// A second passes, GPU-0 reads this, and the judge hears of it. RETURNS: what was found.
  std::vector<Observation> reads(Values values) {
    health_.pass(seconds(1));
    const std::vector<Reading> readings{{{SubjectKind::kDevice, "GPU-0"}, std::move(values)},
                                        {{SubjectKind::kNode, ""}, {{"row_remap_failed", 1}}}};
    const auto found = findings_.look(readings, {"a", health_.boot(), health_.now()});
    health_.tell(found);
    return found;
  }
  Remedy remedy() const { return health_.view("GPU-0").remedy; }

  HealthFixture health_;
  ReadingFindings findings_;
};

TEST_F(ReadingFindingsTest, says_nothing_of_a_device_that_is_well) {
  const Values well{{"ecc_uncorrected_volatile", 3}, {"sram_uncorrected_aggregate", 4},
                    {"throttle_reasons", 0x1 | 0x4 | 0x20}, {"row_remap_pending", 0},
                    {"row_remap_failed", 0}};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(reads(well).empty());
  EXPECT_TRUE(reads({}).empty());
}

TEST_F(ReadingFindingsTest, a_row_that_waits_for_a_reset_is_told_once) {
  ASSERT_EQ(reads({{"row_remap_pending", 1}}).size(), 1u);
  EXPECT_EQ(remedy(), Remedy::kDrainReset);
  EXPECT_TRUE(reads({{"row_remap_pending", 1}}).empty());
  EXPECT_TRUE(reads({{"row_remap_pending", 0}}).empty()) << "it was reset";
  EXPECT_EQ(reads({{"row_remap_pending", 1}}).size(), 1u);
}

TEST_F(ReadingFindingsTest, a_row_that_could_not_be_remapped_is_the_vendors) {
  reads({{"row_remap_failed", 1}});
  EXPECT_EQ(remedy(), Remedy::kReplace);
}

TEST_F(ReadingFindingsTest, memory_errors_count_by_how_many_are_new) {
  EXPECT_TRUE(reads({{"ecc_uncorrected_volatile", 7}}).empty()) << "of the past";
  EXPECT_TRUE(reads({}).empty()) << "not told this time";
  const auto found = reads({{"ecc_uncorrected_volatile", 9}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].value, 2);
  EXPECT_EQ(remedy(), Remedy::kReset);
  EXPECT_TRUE(reads({{"ecc_uncorrected_volatile", 0}}).empty()) << "the driver was loaded anew";
}

TEST_F(ReadingFindingsTest, sram_errors_beyond_what_a_life_may_have_are_told_at_first_sight) {
  ASSERT_EQ(reads({{"sram_uncorrected_aggregate", 5}}).size(), 1u);
  EXPECT_EQ(remedy(), Remedy::kReplace);
  EXPECT_TRUE(reads({{"sram_uncorrected_aggregate", 5}}).empty());
}

TEST_F(ReadingFindingsTest, heat_and_a_power_brake_degrade_for_as_long_as_they_last) {
  for (int i = 0; i < 5; ++i) ASSERT_EQ(reads({{"throttle_reasons", 0x40 | 0x4}}).size(), 1u);
  EXPECT_EQ(health_.view("GPU-0").cause, to_text(Kind::kThermalSlowdown));
  EXPECT_FALSE(health_.view("GPU-0").quarantined);
  EXPECT_EQ(reads({{"throttle_reasons", 0x80}}).at(0).kind, Kind::kPowerBrake);
  health_.pass(minutes(11));
  EXPECT_EQ(health_.view("GPU-0").level, HealthLevel::kHealthy);
}

TEST_F(ReadingFindingsTest, nonsense_is_no_finding) {
  EXPECT_TRUE(reads({{"row_remap_failed", NAN}, {"throttle_reasons", -1},
                     {"sram_uncorrected_aggregate", INFINITY}}).empty());
}

}  // namespace
}  // namespace keiko::health
