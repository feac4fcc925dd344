// What goes to the server when a job is handed in, and what is refused before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/job/yaml_tree.h"
#include "cli/verbs/tests/verbs_fixture.h"

namespace keiko::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::json;

TEST(Submit, sends_the_command_with_its_flags_and_prints_the_id) {
  FakeWorld world;
  EXPECT_EQ(world.run({"submit", "--workers", "2", "--devices=1", "--", "python3", "train.py",
                       "--lr", "1"}),
            0)
      << world.err();
  EXPECT_EQ(world.out(), "j1\n");
  EXPECT_EQ(world.err(), "j1 waits for devices\n");
  ASSERT_EQ(world.server.submitted.size(), 1U);
  const JobSpec spec = MUST(from_proto(world.server.submitted[0].spec()));
  EXPECT_THAT(spec.command, ElementsAre("python3", "train.py", "--lr", "1"));
  EXPECT_EQ(spec.workers, 2);
  EXPECT_EQ(spec.devices, 1);
  EXPECT_EQ(spec.name, "train");
  EXPECT_EQ(spec.user, "ada");
  EXPECT_EQ(spec.workdir, "/here");
  EXPECT_EQ(world.server.submitted[0].token().size(), 32U);
}

TEST(Submit, takes_a_file_and_lets_flags_win) {
  const TemporaryFile file("job.yaml", "name: a\ncommand: [true]\nworkers: 2\n");
  FakeWorld world;
  EXPECT_EQ(world.run({"submit", file.path("job.yaml"), "--workers", "3"}), 0) << world.err();
  EXPECT_EQ(world.server.submitted[0].spec().workers(), 3);
  EXPECT_EQ(world.server.submitted[0].spec().name(), "a");
}

TEST(Submit, a_bad_file_submits_nothing_and_lists_every_problem) {
  const TemporaryFile file("job.yaml", "command: [true]\nwrokers: 2\nresources: {memory: 1}\n");
  FakeWorld world;
  EXPECT_EQ(world.run({"submit", file.path("job.yaml")}), kExitRefused);
  EXPECT_THAT(world.server.submitted, IsEmpty());
  EXPECT_EQ(world.out(), "");
  EXPECT_EQ(world.err(), file.path("job.yaml") +
                             ":2:1: unknown key 'wrokers'; did you mean 'workers'?\n" +
                             file.path("job.yaml") +
                             ":3:21: resources.memory: 1 has no unit; write 1GiB or 1MiB\n");
}

TEST(Submit, impossible_flags_are_named_as_flags) {
  FakeWorld world;
  EXPECT_EQ(world.run({"submit", "--device-kind", "h100", "--", "a"}), kExitUsage);
  EXPECT_THAT(world.err(),
              StartsWith("keiko submit: --devices: none asked for, but a device kind"));
  EXPECT_EQ(world.run({"submit"}), kExitUsage);
  EXPECT_THAT(world.err(), HasSubstr("nothing to run"));
  EXPECT_EQ(world.run({"submit", "/nonexistent.yaml"}), kExitNotFound);
  EXPECT_THAT(world.err(), HasSubstr("/nonexistent.yaml"));
  EXPECT_THAT(world.server.submitted, IsEmpty());
}

TEST(Submit, dry_run_prints_the_job_and_asks_no_server) {
  FakeWorld world;
  EXPECT_EQ(world.run({"submit", "--dry-run", "--memory", "1GiB", "--", "echo", "a b"}), 0);
  EXPECT_EQ(world.out(), "name: echo\ncommand:\n  - echo\n  - \"a b\"\nworkdir: /here\n"
                         "resources:\n  memory: 1GiB\n");
  EXPECT_EQ(world.run({"submit", "--dry-run", "-o", "json", "--", "echo", "a b"}), 0);
  EXPECT_EQ(Json::parse(world.out())["command"], Json({"echo", "a b"}));
  EXPECT_EQ(world.dialled, "");
}

}  // namespace
}  // namespace keiko::cli
