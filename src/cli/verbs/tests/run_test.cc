// Jobs in the foreground: their output, their end, Ctrl-C, a server that goes away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "cli/exit_code.h"
#include "cli/verbs/tests/verbs_fixture.h"

namespace keiko::cli {
namespace {

using ::testing::HasSubstr;

TEST(Run, prints_output_with_ranks_and_ends_as_the_job_does) {
  FakeWorld world;
  world.server.pieces = {piece_of(0, "out", 0, "one\ntw"), piece_of(1, "err", 0, "bad\n"),
                         piece_of(0, "out", 6, "o\nend")};
  EXPECT_EQ(world.run({"run", "--workers", "2", "--", "a"}), 0);
  EXPECT_EQ(world.out(), "[0] one\n[0] two\n[0] end\n");
  EXPECT_THAT(world.err(), HasSubstr("[1] bad\n"));
}

TEST(Run, of_one_worker_passes_bytes_through) {
  FakeWorld world;
  world.server.pieces = {piece_of(0, "out", 0, "no newline \xff")};
  EXPECT_EQ(world.run({"run", "-q", "--", "a"}), 0);
  EXPECT_EQ(world.out(), "no newline \xff");
  EXPECT_EQ(world.err(), "");
}

TEST(Run, exits_with_the_code_of_the_job) {
  for (const auto& [status, job_code, code] :
       {std::tuple{"FAILED", 7, 7}, std::tuple{"FAILED", 137, 137}, std::tuple{"FAILED", 0, 1},
        std::tuple{"CANCELLED", 143, 130}, std::tuple{"COMPLETED", 0, 0}}) {
    FakeWorld world;
    world.server.on_get = [&, status = status, job_code = job_code] {
      world.server.jobs[0].set_status(status);
      world.server.jobs[0].set_exit_code(job_code);
      world.server.jobs[0].set_message("because");
    };
    EXPECT_EQ(world.run({"run", "--", "a"}), code) << status << job_code;
    if (std::string(status) == "FAILED") {
      EXPECT_THAT(world.err(), HasSubstr("j1 failed: because"));
    }
  }
}

TEST(Run, ctrl_c_cancels_the_job_and_waits_for_its_end) {
  FakeWorld world;
  world.terminal.waits_until_interrupt = 2;
  bool first = true;
  world.server.on_get = [&] {
    if (first) world.server.jobs[0].set_status("RUNNING");
    first = false;
  };
  // The second press never comes: the console reports one press from then on.
  world.terminal.console.wait = [&world](Duration) {
    return --world.terminal.waits_until_interrupt < 0 ? 1 : 0;
  };
  EXPECT_EQ(world.run({"run", "--", "a"}), kExitCancelled);
  ASSERT_EQ(world.server.actions.size(), 1U);
  EXPECT_EQ(world.server.actions[0].action(), "cancel");
  EXPECT_THAT(world.err(), HasSubstr("asked the server to cancel j1; Ctrl-C again leaves at once"));
  EXPECT_THAT(world.err(), HasSubstr("j1 was cancelled"));
}

TEST(Run, a_second_ctrl_c_leaves_at_once) {
  FakeWorld world;
  world.terminal.waits_until_interrupt = 2;
  world.server.on_get = [&] { world.server.jobs[0].set_status("RUNNING"); };
  EXPECT_EQ(world.run({"run", "--", "a"}), kExitCancelled);
  EXPECT_EQ(world.server.actions.size(), 1U);
  EXPECT_THAT(world.err(), HasSubstr("left j1, which is being cancelled"));
}

TEST(Run, waits_for_a_server_that_went_away) {
  FakeWorld world;
  int asked = 0;
  world.server.on_get = [&] {
    ++asked;
    world.server.jobs[0].set_status(asked < 3 ? "RUNNING" : "COMPLETED");
    world.server.reachable = asked == 1 ? Done(unavailable("cannot reach it")) : done();
  };
  world.terminal.console.wait = [&](Duration) {
    if (asked == 1 && !world.server.reachable.ok() &&
        world.terminal.err.find("cannot reach it") != std::string::npos) {
      world.server.reachable = done();
    }
    return 0;
  };
  EXPECT_EQ(world.run({"run", "--", "a"}), 0);
  EXPECT_THAT(world.err(), HasSubstr("cannot reach it; the job runs on, waiting for the server"));
  EXPECT_THAT(world.err(), HasSubstr("the server is back"));
}

TEST(Run, detached_prints_the_id) {
  FakeWorld world;
  EXPECT_EQ(world.run({"run", "--detach", "--", "a"}), 0);
  EXPECT_EQ(world.out(), "j1\n");
}

TEST(CtrlC, counts_once_when_a_parent_passes_it_on_as_well) {
  const Console console = process_console();
  catch_interrupts();
  const int before = console.interrupts();
  ::raise(SIGINT);
  ::raise(SIGINT);
  EXPECT_EQ(console.interrupts(), before + 1);
  EXPECT_EQ(console.wait(seconds(60)), before + 1);  // wakes at once
  restore_interrupts();
}

TEST(Watch, appends_news_where_there_is_no_terminal) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "RUNNING")};
  int asked = 0;
  world.server.on_get = [&] {
    if (++asked == 3) world.server.jobs[0].set_status("COMPLETED");
  };
  EXPECT_EQ(world.run({"watch", "a"}), 0);
  EXPECT_EQ(world.out(), "j1 RUNNING\nj1 COMPLETED\n");
}

}  // namespace
}  // namespace keiko::cli
