// Conditions that are told of again and again, what ends them, flaps, reviews, what comes back.
#include <gtest/gtest.h>

#include <cmath>

#include "core/health/health_fixture.h"
#include "core/health/lemon.h"

namespace keiko::health {
namespace {

using Kind = ObservationKind;
using Strings = std::vector<std::string>;

TEST(Condition, slowed_by_heat_is_degraded_until_it_is_cool_for_a_while) {
  HealthFixture health;
  const HealthSubject hot = HealthFixture::device("GPU-0");
  for (int i = 0; i < 120; ++i) {
    health.happens(hot, Kind::kThermalSlowdown);
    health.pass(seconds(1));
  }
  EXPECT_EQ(health.view("GPU-0").level, HealthLevel::kDegraded);
  EXPECT_FALSE(health.view("GPU-0").quarantined);
  EXPECT_EQ(health.state().open.size(), 1u) << "two minutes of heat are one incident";
  EXPECT_EQ(health.state().open.begin()->second.sightings[0].count, 120);
  health.pass(minutes(9) + seconds(58));
  EXPECT_EQ(health.view("GPU-0").level, HealthLevel::kDegraded);
  health.pass(seconds(2));
  EXPECT_EQ(health.view("GPU-0").level, HealthLevel::kHealthy);
  ASSERT_EQ(health.state().closed.size(), 1u);
  EXPECT_NE(story(health.state().closed[0]).find("seen 120 times in 1m 59s"), std::string::npos)
      << story(health.state().closed[0]);
}

TEST(Condition, link_that_fell_counts_ten_minutes_after_it_is_back) {
  HealthFixture health;
  const HealthSubject ib = HealthFixture::nic("mlx5_3");
  health.happens(ib, Kind::kLinkDown);
  EXPECT_EQ(health.names(EffectKind::kQuarantine), Strings{"mlx5_3"});
  health.pass(minutes(30));
  EXPECT_TRUE(health.view(ib).quarantined) << "no timer runs while it is down";
  health.happens(ib, Kind::kLinkUp);
  health.pass(minutes(9) + seconds(59));
  EXPECT_TRUE(health.view(ib).quarantined);
  health.pass(seconds(2));
  EXPECT_FALSE(health.view(ib).quarantined);
  EXPECT_TRUE(health.view(ib).on_probation);
}

TEST(Condition, link_that_flaps_is_held_twice_as_long_each_time) {
  HealthFixture health;
  const HealthSubject ib = HealthFixture::nic("mlx5_3");
  for (int flaps = 0; flaps < 4; ++flaps) {
    health.happens(ib, Kind::kLinkDown);
    health.pass(seconds(5));
    health.happens(ib, Kind::kLinkUp);
    EXPECT_EQ(health.view(ib).ends_at, health.now() + minutes(10) * (1 << flaps)) << flaps;
    health.pass(seconds(30));
  }
  EXPECT_EQ(health.state().open.size(), 1u) << "it is one story";
  health.pass(minutes(81));
  EXPECT_FALSE(health.view(ib).quarantined);
  health.pass(hours(2));
  health.happens(ib, Kind::kLinkDown);
  health.happens(ib, Kind::kLinkUp);
  EXPECT_EQ(health.view(ib).ends_at, health.now() + minutes(10)) << "it was quiet in between";
}

TEST(Condition, failed_preflight_takes_the_device_out_until_a_test_passes) {
  HealthFixture health;
  const HealthSubject device = HealthFixture::device("GPU-1");
  health.happens(device, Kind::kPreflightFailed);
  EXPECT_EQ(health.names(EffectKind::kQuarantine), Strings{"GPU-1"});
  EXPECT_EQ(health.names(EffectKind::kAskRetest), Strings{"GPU-1"});
  health.happens(device, Kind::kRetestPassed);
  EXPECT_EQ(health.names(EffectKind::kRelease), Strings{"GPU-1"});
  EXPECT_EQ(health.got(EffectKind::kRelease)[0].at, health.now() + hours(1)) << "on probation";
}

TEST(Condition, check_of_the_user_warns_and_then_closes_the_node_until_it_is_ok) {
  HealthFixture health;
  const auto result = [&](int64_t code) {
    Observation check = health.seen(HealthFixture::node(), Kind::kCheckResult, code);
    check.detail = "mounts";
    return check;
  };
  health.tell(result(0));
  EXPECT_TRUE(health.state().open.empty());
  health.tell(result(1));
  EXPECT_EQ(health.view(HealthFixture::node()).level, HealthLevel::kDegraded);
  EXPECT_EQ(health.view(HealthFixture::node()).cause, "check_mounts");
  health.pass(seconds(1));
  health.tell(result(2));
  EXPECT_EQ(health.names(EffectKind::kQuarantine), Strings{"a"});
  EXPECT_EQ(health.state().open.size(), 1u);
  health.pass(seconds(1));
  health.tell(result(0));
  EXPECT_EQ(health.names(EffectKind::kRelease), Strings{"a"});
}

TEST(Condition, full_disk_stops_new_work_and_says_where) {
  HealthFixture health;  // complaint 54: "disk full kills the node silently"
  Observation low = health.seen(HealthFixture::node(), Kind::kDiskLow, 0, 900);
  low.limit = 1000;
  low.detail = "/var";
  low.text.clear();
  health.tell(low);
  EXPECT_EQ(health.names(EffectKind::kQuarantine), Strings{"a"});
  EXPECT_EQ(health.view(HealthFixture::node()).cause, "disk_low_/var");
  EXPECT_NE(health.view(HealthFixture::node()).evidence.find("900 of 1000"), std::string::npos);
  Observation other = health.seen(HealthFixture::node(), Kind::kRecovered,
                                  static_cast<int64_t>(Kind::kDiskLow));
  other.detail = "/home";
  health.tell(other);
  EXPECT_TRUE(health.view(HealthFixture::node()).quarantined) << "another disk has room";
  other.detail = "/var";
  health.pass(seconds(1));
  other.boot_us += 1'000'000;
  health.tell(other);
  EXPECT_FALSE(health.view(HealthFixture::node()).quarantined);
}

TEST(Condition, link_is_slow_below_seven_tenths_of_its_kind) {
  HealthFixture health;
  const HealthSubject link{"a", HealthSubjectKind::kLink, "GPU-0 GPU-1"};
  const auto measured = [&](int64_t megabytes_per_s) {
    health.pass(seconds(1));
    Observation seen = health.seen(link, Kind::kLinkSlow, 0, megabytes_per_s);
    seen.limit = 50'000;
    seen.text.clear();
    health.tell(seen);
  };
  measured(35'000);
  EXPECT_EQ(health.view(link).level, HealthLevel::kHealthy);
  measured(34'999);
  EXPECT_EQ(health.view(link).level, HealthLevel::kDegraded);
  EXPECT_EQ(health.view(link).evidence, "slower than its kind: 34999 of 50000");
  EXPECT_FALSE(health.view(link).quarantined);
  measured(49'000);
  EXPECT_EQ(health.view(link).level, HealthLevel::kHealthy);
}

TEST(Condition, of_ever_new_names_is_forgotten_when_it_is_over) {
  HealthFixture health;
  for (int i = 0; i < 2000; ++i) {
    const HealthSubject nic = HealthFixture::nic("veth" + std::to_string(i));
    health.happens(nic, Kind::kLinkDown);
    health.happens(nic, Kind::kLinkUp);
    health.pass(minutes(11));
  }
  EXPECT_LE(health.state().nodes.at("a").subjects.size(), kMaxSubjects);
  EXPECT_TRUE(health.state().open.empty());
}

TEST(Condition, skew_of_a_clock_is_told_and_costs_nothing) {
  HealthFixture health;  // complaint 55: "0.76 s skew loses every worker"
  health.tell(health.seen(HealthFixture::node(), Kind::kClockSkew, 0, 760'000));
  EXPECT_EQ(health.view(HealthFixture::node()).level, HealthLevel::kDegraded);
  EXPECT_FALSE(health.view(HealthFixture::node()).quarantined);
}

TEST(Condition, process_that_cannot_be_killed_and_memory_that_stays_take_the_device_out) {
  HealthFixture health;  // complaints 24, 25 and 30
  health.tell(health.seen(HealthFixture::device("GPU-0"), Kind::kDstateProcess, 0, 4711));
  EXPECT_TRUE(health.view("GPU-0").quarantined);
  EXPECT_FALSE(health.view("GPU-1").quarantined) << "the others go on";
  health.tell(health.seen(HealthFixture::device("GPU-1"), Kind::kMemoryNotReleased, 0, 115));
  EXPECT_EQ(health.names(EffectKind::kAskReset), Strings{"GPU-1"});
  const auto over = [&](const std::string& name, Kind kind) {
    health.pass(seconds(1));
    health.tell(health.seen(HealthFixture::device(name), Kind::kRecovered,
                            static_cast<int64_t>(kind)));
  };
  over("GPU-0", Kind::kDstateProcess);
  over("GPU-1", Kind::kMemoryNotReleased);
  EXPECT_FALSE(health.view("GPU-0").quarantined);
  EXPECT_FALSE(health.view("GPU-1").quarantined);
}

TEST(Condition, of_one_slice_is_not_its_siblings_trouble) {
  HealthFixture health;
  health.happens(HealthFixture::device("MIG-2a"), Kind::kMemoryNotReleased);
  EXPECT_EQ(health.names(EffectKind::kQuarantine), Strings{"MIG-2a"});
  EXPECT_FALSE(health.view("MIG-2b").quarantined);
}

TEST(Condition, that_nothing_ends_is_asked_for_again_and_again) {
  HealthFixture health;  // complaint 22: "node cordoned, never uncordoned"
  health.xids("GPU-0", {119});
  EXPECT_TRUE(health.pass(minutes(14)).empty() || health.got(EffectKind::kAskReset).empty());
  health.pass(minutes(2));
  EXPECT_EQ(health.names(EffectKind::kAskReset), Strings{"GPU-0"});
  ASSERT_FALSE(health.got(EffectKind::kNote).empty());
  EXPECT_EQ(health.got(EffectKind::kNote).back().text,
            "device GPU-0 of a still waits for a reset after 15m 0s: xid_119; it ends by reset, "
            "reboot or operator");
  health.pass(hours(24));
  const size_t asked = health.got(EffectKind::kAskReset).size();
  EXPECT_GE(asked, 4u) << "at least every six hours";
  EXPECT_LE(asked, 10u) << "less and less often";
}

TEST(Condition, same_cause_after_two_resets_wants_a_reboot_and_then_a_person) {
  HealthFixture health;
  const auto again = [&] {
    health.pass(hours(3));
    health.xids("GPU-0", {119});
    return health.view("GPU-0").remedy;
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(again(), Remedy::kReset);
    health.happens(HealthFixture::device("GPU-0"), Kind::kDeviceReset);
    EXPECT_FALSE(health.view("GPU-0").quarantined);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(again(), Remedy::kReboot);
    health.pass(minutes(5));
    health.reboot();
    EXPECT_FALSE(health.view("GPU-0").quarantined);
  }
  EXPECT_EQ(again(), Remedy::kInspect);
  EXPECT_EQ(health.view("GPU-0").owner, HealthOwner::kOperator);
  health.pass(minutes(5));
  health.reboot();
  EXPECT_TRUE(health.view("GPU-0").quarantined) << "two reboots did not help, nor does a third";
  health.happens(HealthFixture::device("GPU-0"), Kind::kOperatorClear);
  EXPECT_FALSE(health.view("GPU-0").quarantined);
  EXPECT_EQ(again(), Remedy::kReset) << "after a person's word it begins anew";
}

TEST(Condition, is_forgotten_as_a_recurrence_after_a_quiet_week) {
  HealthFixture health;
  for (int i = 0; i < 4; ++i) {
    health.pass(hours(24 * 8));
    health.xids("GPU-0", {119});
    EXPECT_EQ(health.view("GPU-0").remedy, Remedy::kReset);
    health.happens(HealthFixture::device("GPU-0"), Kind::kDeviceReset);
  }
}

TEST(Condition, on_the_whole_node_is_cleared_by_an_operator_with_one_word) {
  HealthFixture health;
  health.xids("GPU-0", {119});
  health.happens(HealthFixture::nic("eth0"), Kind::kLinkDown);
  health.happens(HealthFixture::node(), Kind::kDiskLow);
  EXPECT_EQ(health.state().nodes.at("a").quarantined.size(), 3u);
  Observation clear = health.seen(HealthFixture::node(), Kind::kOperatorClear);
  clear.detail = "ann";
  health.tell(clear);
  EXPECT_TRUE(health.state().nodes.at("a").quarantined.empty());
  EXPECT_EQ(health.names(EffectKind::kRelease), (Strings{"a", "GPU-0", "eth0"}));
}

TEST(Reboot, is_seen_by_any_line_of_the_new_boot_and_ends_what_came_before) {
  HealthFixture health;
  health.xids("GPU-0", {79});
  Observation line = health.xid("GPU-1", 13);
  line.boot = "boot-of-tomorrow";
  line.boot_us = 5;
  health.tell(line);
  EXPECT_EQ(health.names(EffectKind::kRelease), (Strings{"a", "GPU-0"}));
}

TEST(Reboot, makes_lines_of_older_boots_yesterdays_news) {
  HealthFixture health;
  Observation old = health.xid("GPU-0", 79);
  health.pass(minutes(1));
  health.reboot();
  health.tell(old);
  EXPECT_FALSE(health.view("GPU-0").quarantined);
}

TEST(Lemon, score_halves_in_a_week_and_counts_incidents_of_the_node_too) {
  HealthFixture health;
  health.xids("GPU-0", {119});
  health.happens(HealthFixture::device("GPU-0"), Kind::kDeviceReset);
  health.pass(minutes(5));
  health.xids("GPU-1", {62, 45, 119});
  health.pass(minutes(5));
  health.xids("GPU-1", {13});
  health.feed(Wake{});
  // Five minutes of a week: 2^(-5/10080) = 0.999656; ten: 0.999313.
  EXPECT_NEAR(static_cast<double>(health.view("GPU-1").lemon_millionths), 999'656, 100)
      << "a cascade is one incident, and 13 none";
  EXPECT_NEAR(static_cast<double>(health.view(HealthFixture::node()).lemon_millionths), 1'998'969,
              200);
  health.pass(hours(24 * 7));
  health.feed(Wake{});
  EXPECT_NEAR(static_cast<double>(health.view("GPU-1").lemon_millionths), 500'000, 500);
  EXPECT_EQ(lemons(health.state()).front().subject, HealthFixture::node());
}

TEST(Lemon, decays_along_two_to_the_minus_x_whatever_the_order) {
  const Duration week = hours(24 * 7);
  for (const double x : {0.01, 0.1, 0.37, 0.5, 0.9, 1.0, 1.5, 3.3, 10.0}) {
    const auto elapsed = nanoseconds(static_cast<int64_t>(x * static_cast<double>(week.ns)));
    const double right = 1e9 * std::exp2(-x);
    const auto found = static_cast<double>(decayed(1'000'000'000, elapsed, week));
    EXPECT_NEAR(found, right, right * 1e-3) << x;
  }
  EXPECT_EQ(decayed(1'000'000, week * 50, week), 0);
  LemonScore forward;
  LemonScore backward;
  const Time start{hours(1000).ns};
  for (int i = 0; i < 5; ++i) charge(forward, start + hours(24 * i), week);
  for (int i = 4; i >= 0; --i) charge(backward, start + hours(24 * i), week);
  EXPECT_NEAR(static_cast<double>(score_at(forward, start + week, week)),
              static_cast<double>(score_at(backward, start + week, week)), 3000);
}

TEST(Story, tells_an_incident_from_cause_to_recovery) {
  HealthFixture health;
  health.xids("GPU-0", {119});
  health.pass(minutes(2));
  health.happens(HealthFixture::device("GPU-0"), Kind::kDeviceReset);
  health.feed(Wake{});
  ASSERT_EQ(health.state().closed.size(), 1u);
  const std::string text = story(health.state().closed[0]);
  for (const char* part : {"device GPU-0 of a: xid_119 (GSP did not answer)",
                           "quarantined; asks for a reset", "on probation until",
                           "over after 2m 0s: it was reset"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
}

TEST(Story, keeps_the_last_incidents_and_no_more) {
  HealthOptions options;
  options.history_most = 10;
  HealthFixture health(options);
  for (int i = 0; i < 30; ++i) {
    health.happens(HealthFixture::device("GPU-0"), Kind::kPreflightFailed);
    health.pass(minutes(1));
    health.happens(HealthFixture::device("GPU-0"), Kind::kRetestPassed);
  }
  ASSERT_EQ(health.state().closed.size(), 10u);
  EXPECT_EQ(health.state().closed.front().id, 21u);
  EXPECT_EQ(find_incident(health.state(), 5), nullptr);
  ASSERT_NE(find_incident(health.state(), 30), nullptr);
}

TEST(HealthOptions, that_cannot_be_are_refused_and_change_nothing) {
  HealthFixture health;
  HealthOptions wrong;
  wrong.probation = {};
  health.feed(OptionsChanged{wrong});
  EXPECT_EQ(health.state().options, HealthOptions{});
  ASSERT_EQ(health.got(EffectKind::kNote).size(), 1u);
  EXPECT_NE(health.got(EffectKind::kNote)[0].text.find("probation"), std::string::npos);
  HealthOptions right;
  right.probation = minutes(5);
  health.feed(OptionsChanged{right});
  EXPECT_EQ(health.state().options, right);
}

TEST(HealthState, of_a_node_that_left_is_gone_but_its_incidents_are_kept) {
  HealthFixture health;
  health.xids("GPU-0", {119});
  health.feed(NodeForgotten{"a"});
  EXPECT_TRUE(health.state().nodes.empty());
  EXPECT_TRUE(health.state().open.empty());
  EXPECT_EQ(health.state().closed.back().ended_by, "its node left the cluster");
  EXPECT_TRUE(check_health(health.state()).ok());
}

}  // namespace
}  // namespace keiko::health
