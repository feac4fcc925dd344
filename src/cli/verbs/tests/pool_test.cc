// What is told to jobs and nodes, and what the pool shows of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/verbs/tests/verbs_fixture.h"

namespace keiko::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(Actions, tell_each_job_and_fail_as_the_first_failure) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "RUNNING"), job_of("j2", "b", "RUNNING")};
  EXPECT_EQ(world.run({"cancel", "j1", "j9", "b", "--reason", "wrong lr"}), kExitNotFound);
  EXPECT_EQ(world.out(), "j1 is told to cancel\nj2 is told to cancel\n");
  EXPECT_THAT(world.err(), HasSubstr("keiko cancel: j9: no job j9"));
  ASSERT_EQ(world.server.actions.size(), 3U);
  EXPECT_EQ(world.server.actions[0].why(), "wrong lr");
  for (const char* action : {"hold", "release", "requeue"}) {
    EXPECT_EQ(world.run({action, "j1"}), 0);
    EXPECT_EQ(world.server.actions.back().action(), action);
  }
  for (const char* action : {"cordon", "drain", "uncordon", "forget"}) {
    EXPECT_EQ(world.run({action, "node1", "--reason", "fan"}), 0);
    EXPECT_EQ(world.server.node_actions.back().action(), action);
    EXPECT_EQ(world.server.node_actions.back().why(), "fan");
  }
  EXPECT_EQ(world.run({"cancel"}), kExitUsage);
}

TEST(Nodes, and_devices_are_listed) {
  FakeWorld world;
  v1::Node node;
  node.set_name("node1");
  node.set_status("READY");
  node.add_devices()->set_kind("cpu");
  world.server.nodes = {node};
  EXPECT_EQ(world.run({"nodes", "-o", "name"}), 0);
  EXPECT_EQ(world.out(), "node1\n");
  EXPECT_EQ(world.run({"devices", "-o", "name"}), 0);
  EXPECT_EQ(world.out(), "node1/0\n");
  EXPECT_EQ(world.run({"node", "node1"}), 0);
  EXPECT_THAT(world.out(), HasSubstr("READY"));
  EXPECT_EQ(world.run({"node", "node9"}), kExitNotFound);
  world.server.nodes.clear();
  EXPECT_EQ(world.run({"nodes"}), 0);
  EXPECT_THAT(world.err(), HasSubstr("keiko agent --join"));
}

TEST(Nodes, show_what_holds_their_workers_and_why_not) {
  FakeWorld world;
  v1::Node node;
  node.set_name("node1");
  node.mutable_isolation()->set_cgroups("hybrid");
  const auto add = [&](const char* name, const char* by, const char* why) {
    v1::Guard& guard = *node.mutable_isolation()->add_guards();
    guard.set_name(name);
    guard.set_by(by);
    guard.set_why_not(why);
  };
  add("memory", "cgroup v1", "");
  add("cores", "affinity", "no writable cpuset cgroup");
  add("devices", "", "turned off (--no-device-guard)");
  world.server.nodes = {node};
  EXPECT_EQ(world.run({"nodes", "-o", "wide"}), 0);
  EXPECT_THAT(world.out(), HasSubstr("hybrid, free: devices"));
  EXPECT_EQ(world.run({"node", "node1"}), 0);
  EXPECT_THAT(world.out(), HasSubstr("Isolation  cgroups: hybrid\n"));
  EXPECT_THAT(world.out(), HasSubstr("cores    affinity   no writable cpuset cgroup\n"));
  EXPECT_THAT(world.out(), HasSubstr("devices  nothing    turned off (--no-device-guard)\n"));
  EXPECT_EQ(world.run({"node", "node1", "-o", "json"}), 0);
  const Json told = Json::parse(world.out());
  EXPECT_EQ(told["isolation"]["cgroups"], "hybrid");
  EXPECT_EQ(told["isolation"]["guards"][2]["why_not"], "turned off (--no-device-guard)");
}

TEST(Events, come_as_lines_or_one_json_object_a_line) {
  FakeWorld world;
  for (int i = 1; i <= 2; ++i) {
    v1::Event event;
    event.set_cursor(static_cast<uint64_t>(i));
    event.set_name("job_placed");
    event.set_job("j" + std::to_string(i));
    event.set_text("on node1");
    *event.mutable_at() = stamp(seconds(1));
    world.server.events.push_back(event);
    world.server.jobs.push_back(job_of(event.job(), "a", "RUNNING"));
  }
  EXPECT_EQ(world.run({"events"}), 0);
  EXPECT_EQ(world.out(), "2026-12-02 07:59:59  job_placed            j1      on node1\n"
                         "2026-12-02 07:59:59  job_placed            j2      on node1\n");
  EXPECT_EQ(world.run({"events", "--job", "j2", "-o", "json"}), 0);
  EXPECT_EQ(Json::parse(world.out())["job"], "j2");
  EXPECT_EQ(world.run({"events", "--job", "j999"}), kExitNotFound);
  EXPECT_EQ(world.err(), "keiko events: no job j999\n");
}

}  // namespace
}  // namespace keiko::cli
