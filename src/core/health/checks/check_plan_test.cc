#include "core/health/checks/check_plan.h"

#include <gtest/gtest.h>

#include "core/health/checks/check_findings.h"
#include "core/health/health_fixture.h"

namespace keiko::health {
namespace {

using Kind = ObservationKind;
using Strings = std::vector<std::string>;

/// The fixture's node: GPU-0, GPU-1, and GPU-2 split into MIG-2a and MIG-2b; and a plan of checks
/// that is asked once a second.
class CheckPlanTest : public testing::Test {
 protected:
  CheckPlanTest() {
    plan_.emplace(options(), "a", health_.state().nodes.at("a").devices, health_.now());
  }
  static CheckOptions options() {
    CheckOptions options;
    options.retest_first = seconds(30);
    options.retest_most = hours(1);
    options.periodic_every = Duration{};
    return options;
  }
  /// RETURNS: the check that is wanted now.
  std::optional<CheckWanted> next() { return plan_->next(health_.now(), health_.state(), busy_); }

  /// Lets seconds pass until a check is wanted. RETURNS: how many did, -1 if none came in `most`.
  int64_t wait(int64_t most) {
    for (int64_t second = 0; second <= most; ++second) {
      if (next()) return second;
      health_.pass(seconds(1));
    }
    return -1;
  }
  /// The running check ends like this, and the judge hears of it.
  void ends(CheckVerdict verdict, const std::string& check = "compute") {
    const CheckWanted wanted = *plan_->running();
    std::vector<CheckOutcome> outcomes;
    for (const std::string& uuid : wanted.devices) outcomes.push_back({check, uuid, verdict, "x"});
    if (wanted.devices.empty()) outcomes.push_back({check, "", verdict, "x"});
    plan_->finished(has_proved_itself(outcomes), health_.now());
    health_.tell(observations_of({wanted.subject, wanted.kind, health_.now(), ""}, outcomes));
  }
  /// A check of GPU-0 finds it broken.
  void fails(const std::string& name = "GPU-0") {
    Observation seen = health_.seen(HealthFixture::device(name), Kind::kCheckResult, 2);
    seen.boot_us = 0;
    seen.detail = "compute";
    health_.tell(seen);
  }

  void may_reset() {
    CheckOptions able = options();
    able.can_reset = true;
    plan_.emplace(able, "a", health_.state().nodes.at("a").devices, health_.now());
  }
  /// The running reset ends like this; the device answers.
  void reset_ends(CheckVerdict verdict) {
    const CheckWanted wanted = *plan_->running();
    const std::string& uuid = wanted.devices.at(0);
    const std::vector<CheckOutcome> outcomes{{kResetCheck, uuid, verdict, "x"},
                                             {"present", uuid, CheckVerdict::kOk, "there"}};
    plan_->finished(has_proved_itself(outcomes), health_.now());
    health_.tell(observations_of({wanted.subject, wanted.kind, health_.now(), ""}, outcomes));
  }

  HealthFixture health_;
  std::set<std::string> busy_;
  std::optional<CheckPlan> plan_;
};

TEST_F(CheckPlanTest, tests_nothing_on_a_healthy_node) { EXPECT_EQ(wait(3600), -1); }

TEST_F(CheckPlanTest, a_retest_that_passes_ends_the_quarantine_and_probation_follows) {
  fails();
  ASSERT_TRUE(health_.view("GPU-0").quarantined);
  EXPECT_EQ(wait(100), 30);
  EXPECT_EQ(plan_->running()->kind, CheckKind::kRetest);
  EXPECT_EQ(plan_->running()->devices, Strings{"GPU-0"});
  ends(CheckVerdict::kOk);
  EXPECT_FALSE(health_.view("GPU-0").quarantined);
  EXPECT_TRUE(health_.view("GPU-0").on_probation);
  EXPECT_EQ(wait(3600), -1) << "nothing is left to test";
}

TEST_F(CheckPlanTest, a_retest_that_fails_is_made_again_ever_more_seldom_up_to_an_hour) {
  fails();
  std::vector<int64_t> pauses;
  for (int i = 0; i < 10; ++i) {
    pauses.push_back(wait(4000));
    ASSERT_GE(pauses.back(), 0);
    ends(CheckVerdict::kCrit);
    EXPECT_TRUE(health_.view("GPU-0").quarantined);
  }
  EXPECT_EQ(pauses, (std::vector<int64_t>{30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600}));
}

TEST_F(CheckPlanTest, a_retest_without_an_answer_proves_nothing) {
  fails();
  wait(100);
  ends(CheckVerdict::kUnknown);
  EXPECT_TRUE(health_.view("GPU-0").quarantined);
  wait(100);
  ends(CheckVerdict::kNotCovered);
  EXPECT_TRUE(health_.view("GPU-0").quarantined);
}

TEST_F(CheckPlanTest, a_device_that_fails_again_soon_after_its_return_waits_longer) {
  fails();
  EXPECT_EQ(wait(100), 30);
  ends(CheckVerdict::kOk);
  fails();
  EXPECT_EQ(wait(100), 60);
  ends(CheckVerdict::kOk);
  fails();
  EXPECT_EQ(wait(200), 120);
}

TEST_F(CheckPlanTest, a_degraded_device_is_tested_only_once_its_worker_is_gone) {
  busy_ = {"GPU-0"};
  health_.tell(health_.xid("GPU-0", 9999));  // newer than the table: test it
  ASSERT_EQ(health_.view("GPU-0").level, HealthLevel::kDegraded);
  EXPECT_EQ(wait(600), -1);
  busy_.clear();
  EXPECT_EQ(wait(1), 0);
}

TEST_F(CheckPlanTest, a_device_split_by_mig_is_tested_by_all_its_slices) {
  health_.tell(health_.xid("GPU-2", 9999));
  EXPECT_EQ(wait(100), 30);
  EXPECT_EQ(plan_->running()->subject.name, "GPU-2");
  EXPECT_EQ(plan_->running()->devices, (Strings{"MIG-2a", "MIG-2b"}));
  ends(CheckVerdict::kOk);
  EXPECT_EQ(health_.view("MIG-2a").level, HealthLevel::kHealthy);
}

TEST_F(CheckPlanTest, what_only_a_reset_ends_is_not_tested) {
  health_.tell(health_.xid("GPU-0", 95));
  ASSERT_TRUE(health_.view("GPU-0").quarantined);
  EXPECT_EQ(wait(7200), -1);
}

TEST_F(CheckPlanTest, what_wants_a_reset_is_reset_once_it_is_idle_and_comes_back) {
  may_reset();
  busy_ = {"GPU-0"};
  health_.tell(health_.xid("GPU-0", 95));
  EXPECT_EQ(wait(60), -1) << "a worker has it";
  busy_.clear();
  ASSERT_EQ(wait(1), 0);
  EXPECT_EQ(plan_->running()->kind, CheckKind::kReset);
  reset_ends(CheckVerdict::kOk);
  EXPECT_FALSE(health_.view("GPU-0").quarantined);
  EXPECT_TRUE(health_.view("GPU-0").on_probation);
  EXPECT_EQ(wait(3600), -1);
}

TEST_F(CheckPlanTest, a_reset_that_fails_wants_a_reboot_and_is_not_tried_again) {
  may_reset();
  health_.tell(health_.xid("GPU-0", 95));
  ASSERT_EQ(wait(1), 0);
  reset_ends(CheckVerdict::kCrit);
  EXPECT_EQ(health_.view("GPU-0").remedy, Remedy::kReboot);
  EXPECT_EQ(wait(3600), -1);
}

TEST_F(CheckPlanTest, a_reset_without_an_answer_is_tried_again_with_pauses) {
  may_reset();
  health_.tell(health_.xid("GPU-0", 95));
  wait(1);
  std::vector<int64_t> pauses;
  for (int i = 0; i < 3; ++i) {
    reset_ends(CheckVerdict::kUnknown);
    pauses.push_back(wait(400));
  }
  EXPECT_EQ(pauses, (std::vector<int64_t>{60, 120, 240}));
  EXPECT_EQ(health_.view("GPU-0").remedy, Remedy::kReset);
}

TEST_F(CheckPlanTest, a_restart_of_the_agent_forgets_no_retest) {
  fails();
  health_.pass(minutes(5));
  plan_.emplace(options(), "a", health_.state().nodes.at("a").devices, health_.now());
  EXPECT_EQ(wait(1), 0);
}

TEST_F(CheckPlanTest, a_node_is_tested_as_well_though_its_devices_work) {
  busy_ = {"GPU-0", "GPU-1"};
  Observation full = health_.seen(HealthFixture::node(), Kind::kCheckResult, 2);
  full.boot_us = 0;
  full.detail = "disk";
  health_.tell(full);
  EXPECT_EQ(wait(100), 30);
  EXPECT_EQ(plan_->running()->subject, HealthFixture::node());
  ends(CheckVerdict::kOk, "disk");
  EXPECT_FALSE(health_.view(HealthFixture::node()).quarantined);
}

TEST_F(CheckPlanTest, an_operator_need_not_wait) {
  fails();
  ASSERT_TRUE(plan_->ask(HealthFixture::device("GPU-0")).ok());
  EXPECT_EQ(wait(1), 0);
  EXPECT_EQ(plan_->ask(HealthFixture::device("GPU-7")).error().code, Code::kNotFound);
}

TEST_F(CheckPlanTest, what_a_failed_worker_had_is_checked_once_it_is_idle) {
  busy_ = {"GPU-1"};
  plan_->suspect({"GPU-1", "GPU-7"});
  EXPECT_EQ(wait(10), -1);
  busy_.clear();
  ASSERT_EQ(wait(1), 0);
  EXPECT_EQ(plan_->running()->kind, CheckKind::kAfterFailure);
  ends(CheckVerdict::kOk);
  EXPECT_EQ(wait(100), -1) << "once is enough";
  plan_->suspect({"GPU-1"});
  EXPECT_EQ(wait(1000), 499) << "ten minutes after the last one";
}

TEST_F(CheckPlanTest, idle_devices_are_checked_now_and_then_one_at_a_time) {
  CheckOptions hourly = options();
  hourly.periodic_every = hours(1);
  plan_.emplace(hourly, "a", health_.state().nodes.at("a").devices, health_.now());
  busy_ = {"GPU-0"};
  EXPECT_EQ(wait(4000), 3600);
  Strings checked;
  while (plan_->running()) {
    EXPECT_EQ(plan_->running()->kind, CheckKind::kPeriodic);
    checked.push_back(plan_->running()->devices.at(0));
    EXPECT_FALSE(next()) << "one at a time";
    ends(CheckVerdict::kOk);
    next();
  }
  EXPECT_EQ(checked, (Strings{"GPU-1", "MIG-2a", "MIG-2b"}));
}

TEST_F(CheckPlanTest, a_check_that_was_broken_off_is_wanted_again) {
  fails();
  wait(100);
  plan_->abandoned();
  EXPECT_EQ(wait(1), 0);
}

TEST_F(CheckPlanTest, says_what_was_not_covered_when_a_retest_ends_an_incident) {
  fails();
  wait(100);
  const CheckWanted wanted = *plan_->running();
  const std::vector<CheckOutcome> outcomes{
      {"present", "GPU-0", CheckVerdict::kOk, "it answers"},
      {"compute", "GPU-0", CheckVerdict::kNotCovered, "there is no way to compute on it here"}};
  health_.tell(observations_of({wanted.subject, wanted.kind, health_.now(), ""}, outcomes));
  ASSERT_EQ(health_.state().closed.size(), 1u);
  EXPECT_EQ(health_.state().closed[0].ended_by,
            "a test passed: not covered: compute (there is no way to compute on it here)");
}

TEST_F(CheckPlanTest, a_warning_found_by_a_retest_that_passes_stays) {
  fails();
  wait(100);
  const CheckWanted wanted = *plan_->running();
  const std::vector<CheckOutcome> outcomes{
      {"compute", "GPU-0", CheckVerdict::kOk, "right"},
      {"fans", "GPU-0", CheckVerdict::kWarn, "one of six stands still"}};
  EXPECT_EQ(forbids_work(outcomes), nullptr);
  health_.tell(observations_of({wanted.subject, wanted.kind, health_.now(), ""}, outcomes));
  EXPECT_FALSE(health_.view("GPU-0").quarantined);
  EXPECT_EQ(health_.view("GPU-0").cause, "check_fans");
  EXPECT_EQ(health_.view("GPU-0").owner, HealthOwner::kOperator);
}

}  // namespace
}  // namespace keiko::health
