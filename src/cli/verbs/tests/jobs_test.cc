// Lists of jobs, one job, and why it waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/job/yaml_tree.h"
#include "cli/verbs/tests/verbs_fixture.h"

namespace keiko::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::json;

TEST(Jobs, lists_all_that_run_and_the_last_that_ended) {
  FakeWorld world;
  for (int i = 1; i <= 30; ++i) {
    world.server.jobs.push_back(
        job_of("j" + std::to_string(i), "a", i == 1 ? "RUNNING" : "COMPLETED"));
  }
  EXPECT_EQ(world.run({"jobs", "-o", "name", "--ended", "3"}), 0);
  EXPECT_EQ(world.out(), "j1\nj30\nj29\nj28\n");
  EXPECT_EQ(world.run({"jobs", "--ended", "3", "--no-headers"}), 0);
  EXPECT_THAT(world.err(), HasSubstr("keiko jobs --all"));
  EXPECT_THAT(world.out(), StartsWith("j1 "));
  EXPECT_EQ(world.run({"jobs", "--all", "-o", "name"}), 0);
  EXPECT_EQ(std::count(world.out().begin(), world.out().end(), '\n'), 30);
  EXPECT_EQ(world.run({"jobs", "--status", "RUNNING", "-o", "name"}), 0);
  EXPECT_EQ(world.out(), "j1\n");
}

TEST(Jobs, json_and_yaml_hold_the_same) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "RUNNING"), job_of("j2", "true", "PENDING")};
  ASSERT_EQ(world.run({"jobs", "-o", "json"}), 0);
  const Json json = Json::parse(world.out());
  ASSERT_EQ(json["jobs"].size(), 2U);
  EXPECT_EQ(json["jobs"][0]["id"], "j2");
  EXPECT_EQ(json["jobs"][0]["spec"]["name"], "true");
  ASSERT_EQ(world.run({"jobs", "-o", "yaml"}), 0);
  const YamlReading yaml = read_yaml(world.out());
  ASSERT_THAT(yaml.problems, IsEmpty());
  EXPECT_THAT(world.out(), StartsWith("jobs:\n- id: j2\n"));
  EXPECT_THAT(world.out(), HasSubstr("    name: \"true\"\n"));
}

TEST(Jobs, an_empty_pool_says_what_to_do) {
  FakeWorld world;
  EXPECT_EQ(world.run({"jobs"}), 0);
  EXPECT_THAT(world.out(), StartsWith("JOB  NAME"));
  EXPECT_THAT(world.err(), HasSubstr("keiko run -- COMMAND"));
}

TEST(Jobs, watching_without_a_terminal_appends_only_what_changed) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "RUNNING"), job_of("j2", "b", "PENDING")};
  int waits = 0;
  world.terminal.console.wait = [&](Duration) {
    if (++waits == 2) world.server.jobs[1].set_status("RUNNING");
    return waits == 4 ? 1 : 0;
  };
  EXPECT_EQ(world.run({"jobs", "-w"}), kExitCancelled);
  EXPECT_EQ(std::count(world.out().begin(), world.out().end(), '\n'), 4) << world.out();
  EXPECT_THAT(world.out(), HasSubstr("\nj2   b     ada   RUNNING      0/1        0    -  -\n"));
}

TEST(Job, is_named_by_id_number_or_unique_name) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "COMPLETED"), job_of("j2", "a", "RUNNING"),
                       job_of("j3", "b", "RUNNING"), job_of("j4", "b", "RUNNING"),
                       job_of("j5", "c", "FAILED")};
  for (const auto& [name, id] :
       {std::pair{"j2", "j2"}, std::pair{"2", "j2"}, std::pair{"a", "j2"}, std::pair{"c", "j5"}}) {
    EXPECT_EQ(world.run({"job", name, "-o", "name"}), 0) << world.err();
    EXPECT_EQ(world.out(), std::string(id) + "\n");
  }
  EXPECT_EQ(world.run({"job", "b"}), kExitRefused);
  EXPECT_EQ(world.err(), "keiko job: several jobs are named \"b\": j4, j3; say which id\n");
  EXPECT_EQ(world.run({"job", "nobody"}), kExitNotFound);
  EXPECT_EQ(world.run({"job", "j99"}), kExitNotFound);
  EXPECT_EQ(world.run({"job", "?!"}), kExitUsage);
}

TEST(Why, explains) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "PENDING")};
  world.server.verdict.mutable_verdict()->set_sentence("waits for node3");
  EXPECT_EQ(world.run({"why", "j1"}), 0);
  EXPECT_EQ(world.out(), "j1 (a) is PENDING\nwaits for node3\n");
  EXPECT_EQ(world.run({"why", "j1", "-o", "json"}), 0);
  EXPECT_EQ(Json::parse(world.out())["verdict"]["sentence"], "waits for node3");
}

}  // namespace
}  // namespace keiko::cli
