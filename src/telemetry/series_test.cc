#include "telemetry/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/prng.h"

namespace keiko::telemetry {
namespace {

Time at(int64_t second) { return Time{} + seconds(second); }

TEST(Series, keeps_every_second_for_ten_minutes) {
  Series series(MetricKind::kGauge);
  for (int64_t s = 0; s < 1000; ++s) series.put(at(s), static_cast<double>(s));
  const auto points = series.fine(at(999));
  ASSERT_EQ(points.size(), 600u);
  EXPECT_EQ(points.front(), (Point{at(400), 400, 400}));
  EXPECT_EQ(points.back(), (Point{at(999), 999, 999}));
}

TEST(Series, keeps_mean_and_maximum_of_ten_seconds_for_six_hours) {
  Series series(MetricKind::kGauge);
  for (int64_t s = 0; s < 30'000; ++s) series.put(at(s), s % 10 == 7 ? 100 : 10);
  const auto points = series.coarse(at(29'999));
  ASSERT_EQ(points.size(), 2160u);
  EXPECT_EQ(points.front(), (Point{at(30'000 - 21'600), 19, 100}));
  EXPECT_EQ(points.back().mean, 19) << "(9 * 10 + 100) / 10";
}

TEST(Series, keeps_the_last_value_of_a_counter_exactly) {
  Series series(MetricKind::kCounter);
  const double big = 9007199254740000.0;
  for (int64_t s = 0; s < 20; ++s) series.put(at(s), big + static_cast<double>(s));
  const auto points = series.coarse(at(19));
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].mean, big + 9);
  EXPECT_EQ(points[1].mean, big + 19);
}

TEST(Series, leaves_out_what_was_not_read) {
  Series series(MetricKind::kGauge);
  series.put(at(10), 1);
  series.put(at(11), std::nan(""));
  series.put(at(12), std::numeric_limits<double>::infinity());
  series.put(at(13), 1e300);
  series.put(at(50), 5);
  const std::vector<Point> expected = {{at(10), 1, 1}, {at(50), 5, 5}};
  EXPECT_EQ(series.fine(at(60)), expected);
  EXPECT_EQ(series.coarse(at(60)), expected);
}

TEST(Series, forgets_what_is_too_old_even_if_nothing_new_came) {
  Series series(MetricKind::kGauge);
  series.put(at(0), 1);
  series.put(at(100), 2);
  EXPECT_EQ(series.fine(at(650)).size(), 1u);
  EXPECT_EQ(series.fine(at(5000)).size(), 0u);
  EXPECT_EQ(series.coarse(at(5000)).size(), 2u);
  series.put(at(100'000), 3);
  EXPECT_EQ(series.coarse(at(100'000)).size(), 1u) << "a long gap leaves no ghosts";
}

TEST(Series, takes_the_later_of_two_values_and_no_value_of_the_past) {
  Series series(MetricKind::kGauge);
  series.put(at(5) + milliseconds(100), 1);
  series.put(at(5) + milliseconds(900), 2);
  series.put(at(3), 9);
  EXPECT_EQ(series.fine(at(5)), (std::vector<Point>{{at(5), 2, 2}}));
}

TEST(Series, never_takes_more_memory) {
  Series gauge(MetricKind::kGauge);
  const size_t before = gauge.size_bytes();
  for (int64_t s = 0; s < 50'000; s += 3) gauge.put(at(s), 1);
  EXPECT_EQ(gauge.size_bytes(), before);
  EXPECT_LE(before, 20'000u);
  EXPECT_LE(Series(MetricKind::kCounter).size_bytes(), 23'000u);
}

/// Against a map of everything that was put in.
TEST(SeriesProperty, equals_an_unbounded_record_that_is_summed_up) {
  Prng prng(20261202);
  for (int round = 0; round < 50; ++round) {
    const SeriesShape shape{seconds(1), 20, seconds(10), 12};
    Series series(MetricKind::kGauge, shape);
    std::map<int64_t, std::vector<double>> fine;
    std::map<int64_t, std::vector<double>> coarse;
    int64_t now = prng.between(0, 1000);
    for (int i = 0; i < 300; ++i) {
      now += prng.between(0, 9) == 0 ? prng.between(0, 300) : prng.between(0, 2);
      const double value = static_cast<double>(prng.between(-50, 50));
      series.put(at(now), value);
      fine[now].push_back(value);
      coarse[now / 10].push_back(value);
    }
    std::vector<Point> expected_fine;
    for (const auto& [second, values] : fine) {
      if (second > now - 20) expected_fine.push_back({at(second), values.back(), values.back()});
    }
    EXPECT_EQ(series.fine(at(now)), expected_fine);
    const auto points = series.coarse(at(now));
    size_t n = 0;
    for (const auto& [slot, values] : coarse) {
      if (slot <= now / 10 - 12) continue;
      double sum = 0;
      for (const double value : values) sum += value;
      ASSERT_LT(n, points.size());
      EXPECT_EQ(points[n].at, at(slot * 10));
      EXPECT_NEAR(points[n].mean, sum / static_cast<double>(values.size()), 1e-4);
      EXPECT_EQ(points[n].most, *std::max_element(values.begin(), values.end()));
      ++n;
    }
    EXPECT_EQ(n, points.size());
  }
}

}  // namespace
}  // namespace keiko::telemetry
