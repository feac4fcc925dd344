// Faults of devices through the brain: what each asks for, cascades, siblings, who is told twice.
#include <gtest/gtest.h>

#include "core/health/health_fixture.h"

namespace keiko::health {
namespace {

using Kind = ObservationKind;
using Strings = std::vector<std::string>;

TEST(Fault, that_concerns_a_program_leaves_the_device_in_service) {
  HealthFixture health;  // complaint 21: "any odd Xid marks a GPU bad until restart"
  for (const int64_t code : {13, 31, 43, 45, 68, 94}) {
    health.xids("GPU-0", {code});
    EXPECT_EQ(health.view("GPU-0").level, HealthLevel::kHealthy) << code;
    EXPECT_TRUE(health.got(EffectKind::kQuarantine).empty()) << code;
    health.pass(seconds(20));
  }
}

TEST(Fault, that_wants_a_reset_quarantines_at_once_and_comes_back_on_probation) {
  HealthFixture health;  // complaint 23: capacity follows health events at once
  health.xids("0000:c1:00.0", {119});
  EXPECT_EQ(health.names(EffectKind::kQuarantine), Strings{"GPU-0"});
  EXPECT_EQ(health.names(EffectKind::kAskReset), Strings{"GPU-0"});
  const HealthView ill = health.view("GPU-0");
  EXPECT_EQ(ill.level, HealthLevel::kUnhealthy);
  EXPECT_EQ(ill.cause, "xid_119");
  EXPECT_EQ(ill.evidence, "line of xid 119");
  EXPECT_EQ(ill.since, health.now());
  EXPECT_EQ(ill.owner, HealthOwner::kKeiko);
  EXPECT_EQ(exits_text(ill.exits), "reset, reboot or operator");
  EXPECT_FALSE(health.view("GPU-1").quarantined);

  health.pass(minutes(2));
  health.happens(HealthFixture::device("GPU-0"), Kind::kDeviceReset);
  EXPECT_EQ(health.names(EffectKind::kRelease), Strings{"GPU-0"});
  const HealthView well = health.view("GPU-0");
  EXPECT_EQ(well.level, HealthLevel::kHealthy);
  EXPECT_TRUE(well.on_probation);
  EXPECT_EQ(well.probation_until, health.now() + hours(1));
  health.pass(hours(1) + seconds(1));
  health.feed(Wake{});
  EXPECT_FALSE(health.view("GPU-0").on_probation);
}

TEST(Fault, that_wants_a_reboot_drains_the_node_and_ends_with_the_next_boot) {
  HealthFixture health;
  health.xids("GPU-0", {79});
  EXPECT_EQ(health.names(EffectKind::kQuarantine), (Strings{"a", "GPU-0"}));
  EXPECT_EQ(health.names(EffectKind::kDrainNode), Strings{"a"});
  EXPECT_TRUE(health.view(HealthFixture::node()).quarantined) << "it waits for its reboot";
  EXPECT_EQ(health.view(HealthFixture::node()).cause, "xid_79");
  ASSERT_EQ(health.got(EffectKind::kAskReboot).size(), 1u);
  EXPECT_TRUE(health.got(EffectKind::kAskReboot)[0].when_idle);
  health.pass(minutes(5));
  EXPECT_TRUE(health.view("GPU-0").quarantined);
  health.happens(HealthFixture::device("GPU-0"), Kind::kDeviceReset);
  EXPECT_TRUE(health.view("GPU-0").quarantined) << "a reset does not bring it back to the bus";
  health.reboot();
  EXPECT_EQ(health.names(EffectKind::kRelease), (Strings{"a", "GPU-0"})) << "complaint 22";
  EXPECT_EQ(health.view(HealthFixture::node()).level, HealthLevel::kHealthy);
  EXPECT_TRUE(health.view("GPU-0").on_probation);
}

TEST(Fault, cascade_is_one_incident_named_by_its_root) {
  HealthFixture health;
  health.xids("GPU-0", {62, 45, 119});
  health.tell(health.xid("GPU-0", 154, 2));
  EXPECT_EQ(health.state().open.size(), 1u);
  const Incident& incident = health.state().open.begin()->second;
  EXPECT_EQ(incident.cause, "xid_62");
  EXPECT_EQ(incident.sightings.size(), 4u);
  EXPECT_EQ(health.view("GPU-0").cause, "xid_62");
  EXPECT_EQ(health.view("GPU-0").remedy, Remedy::kReboot) << "the driver's advice is obeyed";
  EXPECT_NE(story(incident).find("xid_62 (micro-controller halted), with it xid_45, xid_119, "
                                 "xid_154"), std::string::npos)
      << story(incident);
  health.pass(seconds(61));
  health.xids("GPU-0", {31});
  EXPECT_EQ(health.state().open.size(), 2u) << "a minute later it is another matter";
}

TEST(Fault, that_comes_again_and_again_on_an_ill_device_is_one_incident) {
  HealthFixture health;
  size_t requests = 0;
  for (int i = 0; i < 90; ++i) {
    health.xids("GPU-0", {119, 45});
    requests += health.got(EffectKind::kAskReset).size();
    health.pass(minutes(2));
    requests += health.got(EffectKind::kAskReset).size();
  }
  ASSERT_EQ(health.state().open.size(), 1u);
  EXPECT_EQ(health.state().open.begin()->second.sightings[0].count, 90);
  EXPECT_LE(requests, 5u) << "three hours with reviews after 15, 45 and 105 minutes";
  health.tell(health.xid("GPU-0", 154, 2));
  EXPECT_EQ(health.view("GPU-0").remedy, Remedy::kReboot) << "advice counts however late";
  EXPECT_EQ(health.state().open.size(), 1u);
}

TEST(Fault, root_does_not_depend_on_the_order_of_telling) {
  HealthFixture health;
  const Observation root = health.xid("GPU-0", 62);
  health.pass(milliseconds(5));
  const Observation follower = health.xid("GPU-0", 45);
  health.pass(milliseconds(5));
  const Observation last = health.xid("GPU-0", 119);
  health.tell(last);
  health.tell(follower);
  health.tell(root);
  EXPECT_EQ(health.state().open.size(), 1u);
  EXPECT_EQ(health.view("GPU-0").cause, "xid_62");
  EXPECT_EQ(health.view("GPU-0").evidence, "line of xid 62");
}

TEST(Fault, advice_of_the_driver_is_obeyed_before_the_table) {
  struct Case {
    int64_t action;
    Remedy remedy;
    bool when_idle;
  };
  for (const Case& one : {Case{1, Remedy::kReset, false}, Case{2, Remedy::kReboot, true},
                          Case{3, Remedy::kDrainReset, true}, Case{4, Remedy::kDrainReset, true}}) {
    HealthFixture health;
    health.tell({health.xid("GPU-0", 31), health.xid("GPU-0", 154, one.action)});
    EXPECT_EQ(health.view("GPU-0").remedy, one.remedy) << one.action;
    const EffectKind kind =
        one.remedy == Remedy::kReboot ? EffectKind::kAskReboot : EffectKind::kAskReset;
    ASSERT_EQ(health.got(kind).size(), 1u) << one.action;
    EXPECT_EQ(health.got(kind)[0].when_idle, one.when_idle) << one.action;
  }
}

TEST(Fault, advice_that_was_cut_off_changes_nothing) {
  HealthFixture health;
  health.tell(health.xid("GPU-0", 119));
  health.tell(health.xid("GPU-0", 154, -1));
  EXPECT_EQ(health.view("GPU-0").remedy, Remedy::kReset);
  health.pass(milliseconds(1));
  health.tell(health.xid("GPU-0", 154, 2));
  health.pass(milliseconds(1));
  health.tell(health.xid("GPU-0", 154, -1));
  EXPECT_EQ(health.view("GPU-0").remedy, Remedy::kReboot);
}

TEST(Fault, is_over_when_the_driver_asks_for_nothing_more_but_not_if_it_comes_back) {
  HealthFixture health;
  health.xids("GPU-0", {119});
  health.pass(minutes(3));
  health.tell(health.xid("GPU-0", 154, 0));
  EXPECT_EQ(health.names(EffectKind::kRelease), Strings{"GPU-0"});
  health.pass(milliseconds(3));
  health.xids("GPU-0", {119});
  EXPECT_TRUE(health.view("GPU-0").quarantined);
}

TEST(Fault, double_bit_error_is_judged_with_what_comes_with_it) {
  struct Case {
    Strings why;
    std::vector<int64_t> codes;
    Remedy remedy;
  };
  const std::vector<Case> cases{{{"alone"}, {48}, Remedy::kReset},
                                {{"contained"}, {48, 94}, Remedy::kDrainReset},
                                {{"remapped"}, {48, 63}, Remedy::kDrainReset},
                                {{"not contained"}, {48, 95}, Remedy::kReset},
                                {{"not remapped"}, {48, 63, 64}, Remedy::kReset},
                                {{"in SRAM"}, {48, 172}, Remedy::kReset},
                                {{"in DRAM, remapped"}, {48, 171, 63}, Remedy::kDrainReset}};
  for (const Case& one : cases) {
    HealthFixture health;
    health.xids("GPU-0", one.codes);
    EXPECT_EQ(health.view("GPU-0").remedy, one.remedy) << one.why[0];
    EXPECT_EQ(health.view("GPU-0").cause, "xid_48") << one.why[0];
  }
}

TEST(Fault, counter_of_memory_errors_adds_nothing_to_the_drivers_own_words) {
  HealthFixture health;
  health.xids("GPU-0", {94});
  health.happens(HealthFixture::device("GPU-0"), Kind::kEccUncorrectable);
  EXPECT_EQ(health.view("GPU-0").level, HealthLevel::kHealthy) << "94 is contained";
  health.happens(HealthFixture::device("GPU-1"), Kind::kEccUncorrectable);
  EXPECT_EQ(health.view("GPU-1").remedy, Remedy::kReset) << "nobody says more about this one";
}

TEST(Fault, removed_channel_means_something_only_alone) {
  HealthFixture health;
  health.xids("GPU-0", {45});
  health.pass(seconds(30));
  EXPECT_EQ(health.view("GPU-0").level, HealthLevel::kHealthy) << "something may yet explain it";
  health.pass(seconds(31));
  EXPECT_EQ(health.view("GPU-0").remedy, Remedy::kAskOperator);
  EXPECT_FALSE(health.view("GPU-0").quarantined);
  health.xids("GPU-1", {45, 13});
  health.pass(minutes(2));
  EXPECT_EQ(health.view("GPU-1").level, HealthLevel::kHealthy) << "13 explains it";
}

TEST(Fault, of_nvlink_is_as_grave_as_its_line_says) {
  HealthFixture health;
  health.tell(health.xid("GPU-0", 149, 0));
  EXPECT_EQ(health.view("GPU-0").level, HealthLevel::kDegraded);
  EXPECT_FALSE(health.view("GPU-0").quarantined);
  health.tell(health.xid("GPU-1", 149, 1));
  EXPECT_TRUE(health.view("GPU-1").quarantined);
  EXPECT_EQ(health.view("GPU-1").remedy, Remedy::kReset);
}

TEST(Fault, that_nobody_knows_is_tested_and_not_banned) {
  HealthFixture health;  // complaint 22: quarantines that nobody can end
  for (const int64_t code : {5, 142, 162, 500}) {
    health.pass(minutes(2));
    health.xids("GPU-0", {code});
    EXPECT_EQ(health.view("GPU-0").level, HealthLevel::kDegraded) << code;
    EXPECT_FALSE(health.view("GPU-0").quarantined) << code;
    EXPECT_EQ(health.names(EffectKind::kAskRetest), Strings{"GPU-0"}) << code;
    health.happens(HealthFixture::device("GPU-0"), Kind::kRetestPassed);
    EXPECT_EQ(health.view("GPU-0").level, HealthLevel::kHealthy) << code;
  }
}

TEST(Fault, of_many_programs_makes_the_device_a_suspect) {
  HealthFixture health;
  for (int i = 0; i < 4; ++i) {
    health.xids("GPU-0", {13});
    health.pass(minutes(5));
    EXPECT_EQ(health.view("GPU-0").level, HealthLevel::kHealthy);
  }
  health.xids("GPU-0", {31});
  EXPECT_EQ(health.view("GPU-0").remedy, Remedy::kRetest);
  EXPECT_EQ(health.names(EffectKind::kAskRetest), Strings{"GPU-0"});
}

TEST(Fault, marks_the_siblings_on_one_device_as_the_table_says) {
  HealthFixture health;  // "one bad logical share does not mark its siblings"
  Observation contained = health.xid("0000:c3:00.0", 94);
  contained.gpu_instance = 1;
  health.tell(contained);
  EXPECT_FALSE(health.view("MIG-2b").quarantined);
  health.pass(minutes(2));
  Observation halted = health.xid("MIG-2a", 62);
  health.tell(halted);
  EXPECT_EQ(health.names(EffectKind::kQuarantine), (Strings{"GPU-2", "MIG-2a", "MIG-2b"}));
  EXPECT_EQ(health.view("MIG-2b").cause, "xid_62");
  EXPECT_FALSE(health.view("GPU-0").quarantined);
  health.happens(HealthFixture::device("GPU-2"), Kind::kDeviceReset);
  EXPECT_EQ(health.names(EffectKind::kRelease), (Strings{"GPU-2", "MIG-2a", "MIG-2b"}));
  EXPECT_TRUE(health.view("MIG-2a").on_probation);
}

TEST(Fault, of_one_slice_leaves_the_others_alone) {
  HealthFixture health;
  for (int i = 0; i < 5; ++i) {
    Observation fault = health.xid("0000:c3:00.0", 13);
    fault.gpu_instance = 1;
    health.tell(fault);
    health.pass(minutes(5));
  }
  EXPECT_EQ(health.view("MIG-2a").level, HealthLevel::kDegraded);
  EXPECT_EQ(health.view("MIG-2b").level, HealthLevel::kHealthy);
}

TEST(Fault, that_both_sources_tell_of_counts_once) {
  HealthFixture health;
  Observation library = health.xid("GPU-0", 94);
  library.source = ObservationSource::kVendorLibrary;
  library.boot_us += 700'000;
  health.tell({health.xid("0000:c1:00.0", 94), library});
  EXPECT_EQ(health.state().open.begin()->second.sightings[0].count, 1);
  Observation again = library;
  again.boot_us += 300'000;
  health.tell(again);
  EXPECT_EQ(health.state().open.begin()->second.sightings[0].count, 2) << "a second fault";
}

TEST(Fault, that_is_lost_and_back_proves_itself_first) {
  HealthFixture health;
  health.happens(HealthFixture::device("GPU-0"), Kind::kDeviceLost);
  for (int i = 0; i < 5; ++i) {
    health.pass(seconds(1));
    health.happens(HealthFixture::device("GPU-0"), Kind::kDeviceLost);
  }
  EXPECT_EQ(health.state().open.size(), 1u) << "it is one absence";
  EXPECT_EQ(health.view("GPU-0").remedy, Remedy::kReboot);
  health.happens(HealthFixture::device("GPU-0"), Kind::kDeviceBack);
  EXPECT_TRUE(health.view("GPU-0").quarantined);
  EXPECT_EQ(health.names(EffectKind::kAskRetest), Strings{"GPU-0"});
  health.happens(HealthFixture::device("GPU-0"), Kind::kRetestPassed);
  EXPECT_FALSE(health.view("GPU-0").quarantined);
  EXPECT_TRUE(health.view("GPU-0").on_probation);
}

TEST(Fault, that_wears_memory_out_is_the_vendors_matter) {
  HealthFixture health;
  Observation errors = health.seen(HealthFixture::device("GPU-0"), Kind::kEccSramAggregate, 0, 4);
  health.tell(errors);
  EXPECT_EQ(health.view("GPU-0").level, HealthLevel::kHealthy) << "four are borne";
  health.pass(seconds(1));
  health.tell(health.seen(HealthFixture::device("GPU-0"), Kind::kEccSramAggregate, 0, 5));
  EXPECT_EQ(health.view("GPU-0").remedy, Remedy::kReplace);
  EXPECT_EQ(health.view("GPU-0").owner, HealthOwner::kVendor);
  health.happens(HealthFixture::device("GPU-1"), Kind::kRowRemapFailure);
  EXPECT_EQ(health.view("GPU-1").owner, HealthOwner::kVendor);
  health.reboot();
  EXPECT_TRUE(health.view("GPU-0").quarantined) << "no reboot mends it";
  health.happens(HealthFixture::device("GPU-0"), Kind::kOperatorClear);
  EXPECT_FALSE(health.view("GPU-0").quarantined);
}

TEST(Fault, that_waits_for_a_remap_is_reset_when_idle) {
  HealthFixture health;
  health.happens(HealthFixture::device("GPU-0"), Kind::kRowRemapPending);
  ASSERT_EQ(health.got(EffectKind::kAskReset).size(), 1u);
  EXPECT_TRUE(health.got(EffectKind::kAskReset)[0].when_idle);
  EXPECT_TRUE(health.view("GPU-0").quarantined) << "it takes no new work meanwhile";
}

TEST(Fault, known_by_address_alone_gets_its_name_with_the_inventory) {
  HealthFixture health;
  health.xids("0000:c9:00.0", {119});
  EXPECT_EQ(health.names(EffectKind::kQuarantine), Strings{"0000:c9:00.0"});
  health.feed(DevicesFound{"a", {{"GPU-9", "0000:C9:00.0", "", -1}}, {}});
  EXPECT_EQ(health.view("GPU-9").cause, "xid_119");
  EXPECT_EQ(health.names(EffectKind::kQuarantine), Strings{"GPU-9"});
  EXPECT_TRUE(check_health(health.state()).ok());
}

}  // namespace
}  // namespace keiko::health
