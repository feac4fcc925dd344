// A command in a worker sees what the worker sees, and nothing of it stays behind.
#include "drivers/substrate/process/process_door.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>

#include "drivers/substrate/process/proc.h"
#include "drivers/substrate/process/test_machine.h"

namespace keiko::process {
namespace {

class ProcessDoorTest : public testing::Test {
 protected:
  void SetUp() override {
    WorkerProcess worker = shell("trap : INT; while :; do sleep 0.02; done");
    worker.env["COLOUR"] = "teal";
    worker.workdir = machine_.options().state_dir;
    ASSERT_TRUE(machine_.substrate().start(worker).ok());
    machine_.wait_for(WorkerStatus::kRunning);
    door_.emplace(machine_.options().state_dir);
  }

  Result<std::unique_ptr<Visit>> enter(const std::string& script) {
    VisitOrder order;
    order.argv = {"sh", "-c", script};
    return door_->enter(worker_key(), order);
  }

  /// Waits for the end, then reads what was written. RETURNS: "output|code".
  std::string outcome(Visit& visit) {
    std::optional<VisitEnd> end;
    eventually([&] {
      pollfd wait{visit.news(), POLLIN, 0};
      poll(&wait, 1, 20);
      return (end = visit.end()).has_value();
    });
    if (!end) return "no end";
    std::string text;
    char piece[4096];  // a terminal gives a line at a time
    ssize_t got = 0;
    while ((got = read(visit.out(), piece, sizeof piece)) > 0) {
      text.append(piece, static_cast<size_t>(got));
    }
    const std::string how =
        end->error.code != Code::kOk ? end->error.message
        : end->signal != 0           ? "signal " + std::to_string(end->signal)
                                     : std::to_string(end->exit_code);
    return text + "|" + how;
  }

  TestMachine machine_;
  std::optional<ProcessDoor> door_;
};

TEST_F(ProcessDoorTest, runs_in_the_worker_s_environment_and_directory) {
  auto visit = enter("echo $COLOUR; pwd; exit 7");
  ASSERT_TRUE(visit.ok()) << visit.error().text();
  EXPECT_EQ(outcome(**visit), "teal\n" + machine_.options().state_dir + "\n|7");
}

TEST_F(ProcessDoorTest, a_command_that_cannot_run_says_why) {
  VisitOrder order;
  order.argv = {"no-such-command"};
  auto visit = door_->enter(worker_key(), order);
  ASSERT_TRUE(visit.ok());
  EXPECT_NE(outcome(**visit).find("cannot run 'no-such-command'"), std::string::npos);
}

TEST_F(ProcessDoorTest, a_signal_reaches_the_command_and_not_the_worker) {
  auto visit = enter("echo ready; sleep 100");
  ASSERT_TRUE(visit.ok());
  pollfd wait{(*visit)->out(), POLLIN, 0};
  ASSERT_EQ(poll(&wait, 1, 20'000), 1);
  (*visit)->signal(SIGTERM);
  EXPECT_EQ(outcome(**visit), "ready\n|signal 15");
  EXPECT_EQ(machine_.state().status, WorkerStatus::kRunning);
}

TEST_F(ProcessDoorTest, whoever_leaves_takes_daemons_of_the_command_along) {
  const std::string file = machine_.path("daemon.pid");
  auto visit = enter("setsid sh -c 'echo $$ >" + file + ".new; mv " + file + ".new " + file +
                     "; sleep 1000' & sleep 1000");
  ASSERT_TRUE(visit.ok());
  const int64_t daemon = read_pid_file(file);
  ASSERT_GT(daemon, 0);
  visit->reset();
  const auto stat = read_stat(daemon);
  EXPECT_TRUE(!stat || stat->dead());
  EXPECT_EQ(machine_.state().status, WorkerStatus::kRunning);
}

TEST_F(ProcessDoorTest, the_worker_s_end_ends_the_command) {
  auto visit = enter("sleep 1000");
  ASSERT_TRUE(visit.ok());
  ASSERT_TRUE(machine_.substrate().signal(worker_key(), SIGKILL).ok());
  EXPECT_NE(outcome(**visit).find("worker has ended"), std::string::npos);
  EXPECT_EQ(machine_.wait_for(WorkerStatus::kEnded).end.signal, SIGKILL);
}

TEST_F(ProcessDoorTest, a_terminal_has_the_size_that_was_asked_for) {
  VisitOrder order;
  order.argv = {"sh", "-c", "stty size; tty >/dev/null && echo yes"};
  order.terminal = TerminalSize{33, 101};
  auto visit = door_->enter(worker_key(), order);
  ASSERT_TRUE(visit.ok());
  EXPECT_EQ(outcome(**visit), "33 101\r\nyes\r\n|0");
}

TEST_F(ProcessDoorTest, nobody_enters_a_worker_that_is_not_here) {
  const auto visit = door_->enter(worker_key(5), VisitOrder{{"true"}, {}, {}});
  ASSERT_FALSE(visit.ok());
  EXPECT_EQ(visit.error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace keiko::process
