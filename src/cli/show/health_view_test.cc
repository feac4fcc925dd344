// Health as people see it.
#include "cli/show/health_view.h"

#include <gtest/gtest.h>

#include "cli/fake_client.h"

namespace keiko::cli {
namespace {

v1::SubjectHealth ill_device() {
  v1::SubjectHealth health;
  health.set_kind("device");
  health.set_name("GPU-1");
  health.set_level("unhealthy");
  health.set_quarantined(true);
  health.set_cause("xid_79");
  health.set_evidence("fell off the bus");
  health.set_owner("operator");
  health.set_ends_by("reboot");
  *health.mutable_since() = stamp(minutes(5));
  health.set_incident(4);
  health.set_lemon_millionths(1'250'000);
  health.set_sentence("device GPU-1: unhealthy for 5m");
  return health;
}

v1::SubjectHealth device_on_probation() {
  v1::SubjectHealth health;
  health.set_kind("device");
  health.set_name("GPU-0");
  health.set_level("healthy");
  health.set_on_probation(true);
  health.set_owner("keiko");
  health.set_ends_by("timer");
  health.set_lemon_millionths(90'000);
  health.set_sentence("device GPU-0: on probation");
  return health;
}

v1::Incident incident(uint64_t id, Duration ago, const std::string& story) {
  v1::Incident incident;
  incident.set_id(id);
  incident.set_kind("device");
  incident.set_name("GPU-1");
  *incident.mutable_opened_at() = stamp(ago);
  incident.set_story(story);
  return incident;
}

google::protobuf::RepeatedPtrField<v1::Node> pool() {
  google::protobuf::RepeatedPtrField<v1::Node> nodes;
  v1::Node& node = *nodes.Add();
  node.set_name("n1");
  *node.add_health() = device_on_probation();
  *node.add_health() = ill_device();
  *node.add_incidents() = incident(3, hours(2), "was hot");
  *node.mutable_incidents(0)->mutable_recovered_at() = stamp(hours(1));
  *node.add_incidents() = incident(4, minutes(5), "fell off the bus");
  v1::IncidentStep& step = *node.mutable_incidents(1)->add_steps();
  *step.mutable_at() = stamp(minutes(5));
  step.set_text("xid_79 by the kernel's log");
  nodes.Add()->set_name("n2");
  return nodes;
}

TEST(HealthTable, shows_what_is_ill_first_and_nothing_of_what_is_well) {
  const FakeTerminal terminal;
  EXPECT_EQ(table_text(health_table(pool(), terminal.console.now()), {}, terminal.console),
            "NODE  SUBJECT       HEALTH     NEW WORK      CAUSE   SINCE  TURN      ENDS BY\n"
            "n1    device GPU-1  unhealthy  none          xid_79  5m     operator  reboot\n"
            "n1    device GPU-0  healthy    on probation  -       -      keiko     timer\n");
}

v1::SubjectHealth sound_again() {
  v1::SubjectHealth health;
  health.set_kind("device");
  health.set_name("GPU-2");
  health.set_level("healthy");
  health.set_lemon_millionths(3'000'000);
  return health;
}

TEST(HealthTable, keeps_a_lemon_that_is_well_out_of_what_is_ill) {
  const FakeTerminal terminal;
  auto nodes = pool();
  *nodes.Mutable(1)->add_health() = sound_again();
  EXPECT_EQ(health_table(nodes, terminal.console.now()).rows.size(), 2u);
  EXPECT_EQ(health_page(nodes[1], terminal.console), "n2 is healthy\n");
}

TEST(HealthTable, says_of_nodes_that_do_not_answer_that_they_cannot_be_judged) {
  auto nodes = pool();
  EXPECT_EQ(silence_text(nodes), "");
  nodes.Mutable(0)->set_status("UNREACHABLE");
  nodes.Mutable(1)->set_status("LOST");
  const std::string text = silence_text(nodes);
  EXPECT_NE(text.find("n1 is UNREACHABLE, n2 is LOST"), std::string::npos) << text;
}

TEST(HealthTable, names_a_device_by_its_index_as_well) {
  const FakeTerminal terminal;
  auto nodes = pool();
  v1::Device& device = *nodes.Mutable(0)->add_devices();
  device.set_index(3);
  device.set_uuid("GPU-1");
  const std::string text =
      table_text(health_table(nodes, terminal.console.now()), {}, terminal.console);
  EXPECT_NE(text.find("device 3 GPU-1 "), std::string::npos) << text;
}

TEST(LemonsTable, shows_what_had_most_incidents_first_be_it_well_or_not) {
  const FakeTerminal terminal;
  auto nodes = pool();
  v1::Node& n2 = *nodes.Mutable(1);
  *n2.add_health() = sound_again();
  *n2.add_incidents() = incident(1, hours(24 * 8), "older than a week");
  *n2.add_incidents() = incident(2, hours(24), "within it");
  for (v1::Incident& one : *n2.mutable_incidents()) one.set_name("GPU-2");
  n2.mutable_incidents(1)->set_cause("xid_48");
  EXPECT_EQ(table_text(lemons_table(nodes, terminal.console.now()), {}, terminal.console),
            "NODE  SUBJECT       LEMON  WEEK  LAST  CAUSE   HEALTH     NEW WORK\n"
            "n2    device GPU-2   3.00     1  24h   xid_48  healthy    as usual\n"
            "n1    device GPU-1   1.25     2  5m    -       unhealthy  none\n"
            "n1    device GPU-0   0.09     0  -     -       healthy    on probation\n");
}

TEST(HealthTable, tells_every_incident_the_latest_first) {
  const FakeTerminal terminal;
  EXPECT_EQ(table_text(incidents_table(pool(), terminal.console.now()), {}, terminal.console),
            "NODE  ID  OPENED  STATUS  STORY\n"
            "n1     4  5m      open    fell off the bus\n"
            "n1     3  2h      ended   was hot\n");
}

TEST(HealthPage, tells_the_story_of_each_ill_subject) {
  const FakeTerminal terminal;
  EXPECT_EQ(health_page(pool()[0], terminal.console),
            "device GPU-0 of n1\n"
            "  device GPU-0: on probation\n"
            "\n"
            "device GPU-1 of n1\n"
            "  device GPU-1: unhealthy for 5m\n"
            "  incident 4: fell off the bus\n"
            "    2026-12-02T07:55:00.000Z  xid_79 by the kernel's log\n");
  EXPECT_EQ(health_page(pool()[1], terminal.console), "n2 is healthy\n");
}

}  // namespace
}  // namespace keiko::cli
