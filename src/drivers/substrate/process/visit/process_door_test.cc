// A command in a worker sees what the worker sees, and nothing of it stays behind; the door does
// what every door must.
#include "drivers/substrate/process/visit/process_door.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>

#include "drivers/substrate/process/proc.h"
#include "drivers/substrate/process/test_machine.h"
#include "ports/attach/worker_door_conformance.h"
#include "posix/fd.h"

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
    char buffer[4096];
    ssize_t got = 0;  // a terminal gives a line at a time
    while ((got = read(visit.out(), buffer, sizeof buffer)) > 0) {
      text.append(buffer, static_cast<size_t>(got));
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

/// A port of this machine's loopback, at which connections get back what they send; or, without
/// `listens`, at which nobody listens.
class LoopbackPort {
 public:
  explicit LoopbackPort(bool listens) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_.get(), any, size), 0);
    EXPECT_EQ(getsockname(socket_.get(), any, &size), 0);
    number = ntohs(address.sin_port);
    if (!listens) return;
    EXPECT_EQ(listen(socket_.get(), 5), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~LoopbackPort() {
    shutdown(socket_.get(), SHUT_RDWR);  // wakes accept()
    if (thread_.joinable()) thread_.join();
  }

  int number = 0;

 private:
  void serve() {
    while (true) {
      const Fd client(accept(socket_.get(), nullptr, nullptr));
      if (!client) return;
      char buffer[4096];
      ssize_t got = 0;
      while ((got = read(client.get(), buffer, sizeof buffer)) > 0) {
        write_all(client.get(), {buffer, static_cast<size_t>(got)});
      }
    }
  }

  const Fd socket_;
  std::thread thread_;
};

class ProcessHarness {
 public:
  ProcessHarness() : door_(machine_.options().state_dir) {
    EXPECT_TRUE(machine_.substrate().start(shell("while :; do sleep 0.02; done")).ok());
    machine_.wait_for(WorkerStatus::kRunning);
  }
  WorkerDoor& door() { return door_; }
  WorkerKey worker() { return worker_key(); }
  void end_worker() {
    EXPECT_TRUE(machine_.substrate().signal(worker_key(), SIGKILL).ok());
    machine_.wait_for(WorkerStatus::kEnded);
  }
  int echo_port() { return echo_.number; }
  int closed_port() { return closed_.number; }

 private:
  TestMachine machine_;
  ProcessDoor door_;
  LoopbackPort echo_{true};
  const LoopbackPort closed_{false};
};

}  // namespace
}  // namespace keiko::process

namespace keiko {

INSTANTIATE_TYPED_TEST_SUITE_P(Process, WorkerDoorConformance, process::ProcessHarness);

}  // namespace keiko
