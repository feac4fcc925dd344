#include "server/history/history_plan.h"

#include <gtest/gtest.h>

namespace keiko::server {
namespace {

constexpr WallTime kNow{hours(100'000).ns};

HistoryReadPlan plan(Duration since, Duration step = {}, Duration until = {}) {
  return plan_history_read({since, until, step}, kNow, history_steps(hours(24 * 30)));
}

TEST(HistoryPlan, an_hour_comes_from_the_finest_spans_a_month_from_the_coarsest) {
  EXPECT_EQ(plan(hours(1)).stored, seconds(10));
  EXPECT_EQ(plan(hours(1)).step, seconds(20)) << "240 points would be 15 s";
  EXPECT_EQ(plan(hours(24)).stored, minutes(1));
  EXPECT_EQ(plan(hours(24)).step, minutes(6));
  EXPECT_EQ(plan(hours(24 * 30)).stored, minutes(15));
  EXPECT_EQ(plan(hours(24 * 30)).step, hours(3));
}

TEST(HistoryPlan, what_is_gone_at_a_fine_step_is_read_at_a_coarser_one) {
  // Ten minutes of yesterday: 10 s would do, but is kept for 6 h alone.
  const HistoryReadPlan yesterday = plan(hours(24), {}, hours(24) - minutes(10));
  EXPECT_EQ(yesterday.stored, minutes(1));
  EXPECT_EQ(yesterday.step, minutes(1));
  EXPECT_EQ(plan(hours(24 * 20), {}, hours(24 * 20) - minutes(10)).stored, minutes(15));
}

TEST(HistoryPlan, an_answer_has_no_more_than_a_thousand_spans) {
  EXPECT_EQ(plan(hours(24), seconds(1)).step, minutes(2));
  EXPECT_EQ(plan(hours(1), seconds(1)).step, seconds(10));
  EXPECT_EQ(plan(hours(1), seconds(25)).step, seconds(30));
  EXPECT_EQ(plan(hours(1), seconds(25)).since.ns % seconds(30).ns, 0);
}

TEST(HistoryPlan, folding_keeps_peaks_and_grows_until_the_answer_fits) {
  std::vector<HistoryRow> rows;
  for (int64_t i = 0; i < 100; ++i) {
    const double value = i == 50 ? 900 : 100;
    rows.push_back({seconds(10), {seconds(10).ns * i}, "a",
                    {{"", {{"power_watts", {value, value, value, 1}}}}}});
  }
  Duration step = seconds(10);
  const HistorySpans spans = fold_history(rows, step, 30);
  EXPECT_EQ(step, seconds(40));
  ASSERT_EQ(spans.size(), 25u);
  const Bucket& peak = spans.at(seconds(480).ns).at("").at("power_watts");
  EXPECT_EQ(peak.max, 900);
  EXPECT_EQ(peak.min, 100);
  EXPECT_EQ(peak.mean, 300);
}

}  // namespace
}  // namespace keiko::server
