#include "core/logship/retention.h"

#include <gtest/gtest.h>

namespace keiko::logship {
namespace {

KeptJob ended(uint64_t job, int64_t mib, Duration since_end) {
  return {JobId{job}, mebibytes(mib), true, since_end};
}
KeptJob running(uint64_t job, int64_t mib) { return {JobId{job}, mebibytes(mib), false, {}}; }

std::vector<uint64_t> removed(const std::vector<KeptJob>& jobs, const RetentionOptions& options,
                              Bytes missing = {}) {
  std::vector<uint64_t> numbers;
  for (const Removal& removal : plan_removals(jobs, options, missing)) {
    numbers.push_back(removal.job.number);
  }
  return numbers;
}

using Numbers = std::vector<uint64_t>;

TEST(Retention, removes_nothing_within_its_limits) {
  EXPECT_EQ(removed({ended(1, 10, hours(1)), running(2, 10)}, {hours(2), mebibytes(20)}),
            Numbers{});
}

TEST(Retention, removes_what_ended_too_long_ago) {
  const std::vector<KeptJob> jobs{ended(1, 1, hours(1)), ended(2, 1, hours(3))};
  EXPECT_EQ(removed(jobs, {hours(2), {}}), Numbers{2});
  EXPECT_NE(plan_removals(jobs, {hours(2), {}}, {})[0].why.find("--log-keep"), std::string::npos);
}

TEST(Retention, removes_the_oldest_end_first_until_all_fits) {
  EXPECT_EQ(removed({ended(1, 10, hours(1)), ended(2, 10, hours(3)), ended(3, 10, hours(2))},
                    {{}, mebibytes(15)}),
            (Numbers{2, 3}));
}

TEST(Retention, never_touches_a_job_that_has_not_ended) {
  EXPECT_EQ(removed({running(1, 900), ended(2, 10, hours(1))}, {{}, mebibytes(100)},
                    mebibytes(500)),
            Numbers{2});
}

TEST(Retention, makes_the_room_that_is_missing_and_no_more) {
  EXPECT_EQ(removed({ended(1, 10, hours(3)), ended(2, 10, hours(2)), ended(3, 10, hours(1))},
                    {{}, {}}, mebibytes(11)),
            (Numbers{1, 2}));
}

}  // namespace
}  // namespace keiko::logship
