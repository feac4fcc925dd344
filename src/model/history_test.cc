#include "model/history.h"

#include <gtest/gtest.h>

namespace keiko {
namespace {

TEST(Bucket, tells_least_most_mean_and_how_many) {
  Bucket bucket;
  for (const double watts : {300.0, 100.0, 500.0}) add(bucket, watts);
  EXPECT_EQ(bucket.min, 100);
  EXPECT_EQ(bucket.max, 500);
  EXPECT_NEAR(bucket.mean, 300, 1e-9);
  EXPECT_EQ(bucket.count, 3);
}

TEST(Bucket, a_coarse_one_of_fine_ones_is_as_if_it_had_read_all) {
  Bucket coarse;
  merge(coarse, {});  // a minute in which nothing was read
  EXPECT_EQ(coarse.count, 0);
  merge(coarse, {-4, 8, 1, 59});
  merge(coarse, {});
  merge(coarse, {-1, 9, 3, 1});
  EXPECT_EQ(coarse.min, -4);
  EXPECT_EQ(coarse.max, 9);
  EXPECT_NEAR(coarse.mean, (59 * 1.0 + 1 * 3.0) / 60, 1e-9) << "weighted, no mean of means";
  EXPECT_EQ(coarse.count, 60);
}

TEST(Bucket, subjects_and_metrics_are_merged_with_their_like) {
  SubjectBuckets hour = {{"GPU-1", {{"power_watts", {1, 1, 1, 1}}}}};
  merge(hour, {{"GPU-1", {{"power_watts", {3, 3, 3, 1}}, {"temperature_celsius", {50, 50, 50, 1}}}},
               {"", {{"load_1m", {2, 2, 2, 1}}}}});
  EXPECT_EQ(hour.at("GPU-1").at("power_watts"), (Bucket{1, 3, 2, 2}));
  EXPECT_EQ(hour.at("GPU-1").at("temperature_celsius").count, 1);
  EXPECT_EQ(hour.at("").at("load_1m").mean, 2);
}

TEST(Bucket, a_span_begins_at_a_multiple_of_its_step) {
  EXPECT_EQ(span_begin({seconds(119).ns}, minutes(1)).ns, seconds(60).ns);
  EXPECT_EQ(span_begin({seconds(120).ns}, minutes(1)).ns, seconds(120).ns);
}

}  // namespace
}  // namespace keiko
