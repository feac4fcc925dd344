#include "drivers/substrate/process/process_substrate.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "drivers/substrate/process/proc.h"
#include "drivers/substrate/process/shim.h"
#include "drivers/substrate/process/test_machine.h"
#include "ports/substrate_conformance.h"

namespace keiko::process {
namespace {

class ProcessHarness : public SubstrateHarness {
 public:
  Substrate& substrate() override { return machine_.substrate(); }
  void crash() override { machine_.close(); }
  void reopen() override { machine_.open(); }
  void let_time_pass() override { usleep(5'000); }
  std::vector<std::string> argv(SubstrateProgram program) override {
    switch (program) {
      case SubstrateProgram::kSleep: return {"sleep", "1000"};
      case SubstrateProgram::kExit3: return {"sh", "-c", "exit 3"};
      case SubstrateProgram::kIgnoreTerm:
        return {"sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1000; done"};
      case SubstrateProgram::kPrint: return {"echo", "hello"};
      case SubstrateProgram::kMissing: return {"no-such-program"};
    }
    return {};
  }
  std::string output(const WorkerKey& key) override { return machine_.out(key.rank); }
  void kill_keeper(const WorkerKey& key) override {
    kill(static_cast<pid_t>(machine_.shim_pid(key.rank)), SIGKILL);
  }
  std::string hang(const WorkerKey& key) override {
    return freezer_.freeze(machine_.state(key.rank).pid);
  }
  void unhang(const WorkerKey&) override { freezer_.thaw(); }

 private:
  TestMachine machine_;
  Freezer freezer_;  // thaws before the machine wants its workers gone
};

std::unique_ptr<SubstrateHarness> make_process_harness() {
  return std::make_unique<ProcessHarness>();
}
INSTANTIATE_TEST_SUITE_P(Process, SubstrateConformance, testing::Values(&make_process_harness));

bool is_gone(int64_t pid) {
  const auto stat = read_stat(pid);
  return !stat.has_value() || stat->dead();
}

TEST(ProcessSubstrate, gives_a_worker_exactly_the_environment_it_was_told) {
  TestMachine machine;
  WorkerProcess process = shell("");
  process.argv = {"/usr/bin/env"};
  process.env = {{"A", "1"}, {"B", "two words"}};
  machine.run(process);
  EXPECT_EQ(machine.out(), "A=1\nB=two words\n");
}

TEST(ProcessSubstrate, gives_a_worker_no_descriptor_but_its_three_streams) {
  TestMachine machine;
  machine.run(shell("ls /proc/self/fd | wc -l; readlink /proc/self/fd/0"));
  // ls itself has the folder open.
  EXPECT_EQ(machine.out(), "4\n/dev/null\n");
}

TEST(ProcessSubstrate, runs_a_worker_in_its_directory) {
  TestMachine machine;
  WorkerProcess process = shell("pwd");
  process.workdir = "/usr";
  machine.run(process);
  EXPECT_EQ(machine.out(), "/usr\n");
}

TEST(ProcessSubstrate, says_where_it_looked_for_a_missing_program) {
  TestMachine machine;
  WorkerProcess process = shell("");
  process.argv = {"foo"};
  const ProcessState state = machine.run(process);
  EXPECT_EQ(state.end.cause, EndCause::kStartFailed);
  EXPECT_EQ(state.end.last_words,
            "cannot run 'foo': No such file or directory (looked in PATH=/usr/bin:/bin)");
}

TEST(ProcessSubstrate, says_which_directory_is_missing) {
  TestMachine machine;
  WorkerProcess process = shell("true");
  process.workdir = "/no/such/place";
  const ProcessState state = machine.run(process);
  EXPECT_EQ(state.end.cause, EndCause::kStartFailed);
  EXPECT_NE(state.end.last_words.find("'/no/such/place'"), std::string::npos);
}

TEST(ProcessSubstrate, says_that_a_file_is_not_a_program) {
  TestMachine machine;
  WorkerProcess process = shell("");
  process.argv = {"/etc/passwd"};
  EXPECT_EQ(machine.run(process).end.last_words, "cannot run '/etc/passwd': Permission denied");
}

TEST(ProcessSubstrate, keeps_the_last_words_of_a_failed_worker) {
  TestMachine machine;
  const ProcessState state =
      machine.run(shell("echo fine; echo 'it broke: 42' >&2; exit 1"));
  EXPECT_EQ(state.end.last_words, "it broke: 42");
  EXPECT_EQ(machine.out(), "fine\n");
  EXPECT_GT(state.end.ran.ns, 0);
  EXPECT_GT(state.end.max_rss.count, 0);
}

TEST(ProcessSubstrate, takes_a_daemon_that_forked_away_with_it) {
  TestMachine machine;
  const std::string pid_file = machine.path("daemon.pid");
  WorkerProcess process = act("daemon", pid_file);
  process.argv = {"sh", "-c", "\"$0\" act daemon " + pid_file + "; while [ ! -e " + pid_file +
                                  " ]; do sleep 0.01; done; exit 5", process.argv[0]};
  const ProcessState state = machine.run(process);
  EXPECT_EQ(state.end.exit_code, 5);
  const int64_t daemon = read_pid_file(pid_file);
  ASSERT_GT(daemon, 0);
  EXPECT_TRUE(is_gone(daemon));
}

TEST(ProcessSubstrate, kills_forks_of_forks_in_their_own_sessions) {
  TestMachine machine;
  WorkerProcess process = act("tree", "5");
  process.argv = {"sh", "-c", "\"$0\" act tree 5; exec sleep 1000", process.argv[0]};
  ASSERT_TRUE(machine.substrate().start(process).ok());
  machine.wait_for(WorkerStatus::kRunning);
  const int64_t shim = machine.shim_pid();
  std::vector<int64_t> family;
  ASSERT_TRUE(eventually([&] {
    family = descendants(shim);
    return family.size() >= 60;
  })) << family.size();
  ASSERT_TRUE(machine.substrate().signal(worker_key(), SIGKILL).ok());
  EXPECT_EQ(machine.wait_for(WorkerStatus::kEnded).end.signal, SIGKILL);
  for (const int64_t pid : family) EXPECT_TRUE(is_gone(pid)) << pid;
}

TEST(ProcessSubstrate, kills_a_stopped_worker) {
  TestMachine machine;
  ASSERT_TRUE(machine.substrate().start(shell("exec sleep 1000")).ok());
  const ProcessState running = machine.wait_for(WorkerStatus::kRunning);
  ASSERT_TRUE(machine.substrate().signal(worker_key(), SIGSTOP).ok());
  ASSERT_TRUE(eventually([&] {
    const auto stat = read_stat(running.pid);
    return stat.has_value() && stat->state == 'T';
  }));
  ASSERT_TRUE(machine.substrate().signal(worker_key(), SIGKILL).ok());
  EXPECT_EQ(machine.wait_for(WorkerStatus::kEnded).end.signal, SIGKILL);
}

TEST(ProcessSubstrate, kills_a_worker_whose_shim_is_stopped) {
  TestMachine machine;
  ASSERT_TRUE(machine.substrate().start(shell("exec sleep 1000")).ok());
  const ProcessState running = machine.wait_for(WorkerStatus::kRunning);
  const auto shim = static_cast<pid_t>(machine.shim_pid());
  ASSERT_EQ(kill(shim, SIGSTOP), 0);
  ASSERT_TRUE(machine.substrate().signal(worker_key(), SIGKILL).ok());
  EXPECT_TRUE(eventually([&] { return is_gone(running.pid); }));
  ASSERT_EQ(kill(shim, SIGCONT), 0);
  EXPECT_EQ(machine.wait_for(WorkerStatus::kEnded).end.signal, SIGKILL);
}

TEST(ProcessSubstrate, sends_a_signal_to_every_process_of_a_worker) {
  TestMachine machine;
  ASSERT_TRUE(machine.substrate()
                  .start(shell("sh -c 'trap \"echo child; exit\" TERM; echo ready; "
                                            "while :; do sleep 0.01; done' & "
                                            "trap 'wait; echo parent; exit 0' TERM; wait"))
                  .ok());
  ASSERT_TRUE(eventually([&] { return machine.out() == "ready\n"; }));
  machine.wait_for(WorkerStatus::kRunning);
  ASSERT_TRUE(machine.substrate().signal(worker_key(), SIGTERM).ok());
  EXPECT_EQ(machine.wait_for(WorkerStatus::kEnded).end.cause, EndCause::kExited);
  EXPECT_EQ(machine.out(), "ready\nchild\nparent\n");
}

TEST(ProcessSubstrate, leaves_nothing_behind_when_a_shim_is_killed) {
  TestMachine machine;
  const std::string pid_file = machine.path("daemon.pid");
  WorkerProcess process = act("daemon", pid_file);
  process.argv = {"sh", "-c", "\"$0\" act daemon " + pid_file + "; exec sleep 1000",
                  process.argv[0]};
  process.env["KEIKO_SOCKET"] = machine.folder() + "/socket";
  for (const bool with_cgroups : {true, false}) {
    machine.options().cgroup_root = with_cgroups ? "/sys/fs/cgroup" : "";
    machine.open();
    std::filesystem::remove(pid_file);
    ASSERT_TRUE(machine.substrate().start(process).ok());
    const int64_t daemon = read_pid_file(pid_file);
    const ProcessState running = machine.wait_for(WorkerStatus::kRunning);
    ASSERT_EQ(kill(static_cast<pid_t>(machine.shim_pid()), SIGKILL), 0);
    const ProcessState ended = machine.wait_for(WorkerStatus::kEnded);
    EXPECT_EQ(ended.end.cause, EndCause::kVanished);
    EXPECT_TRUE(is_gone(running.pid));
    EXPECT_TRUE(is_gone(daemon)) << (with_cgroups ? "with" : "without") << " cgroups";
    ASSERT_TRUE(machine.substrate().forget(worker_key()).ok());
  }
}

// Complaint 27: processes that outlive their agent and belong to nobody.
TEST(ProcessSubstrate, survives_the_death_of_its_agent) {
  TestMachine machine;
  machine.close();
  const pid_t agent = fork();
  if (agent == 0) {
    auto substrate = MUST(ProcessSubstrate::open(machine.options()));
    MUST(substrate->start(shell(
        "echo before; while [ ! -e " + machine.path("go") + " ]; do sleep 0.01; done; exit 42")));
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(agent, &status, 0), agent);
  ASSERT_TRUE(WIFSIGNALED(status));
  machine.open();
  EXPECT_EQ(machine.wait_for(WorkerStatus::kRunning).status, WorkerStatus::kRunning);
  MUST(write_atomically(machine.path("go"), "", false));
  const ProcessState ended = machine.wait_for(WorkerStatus::kEnded);
  EXPECT_EQ(ended.end.cause, EndCause::kExited);
  EXPECT_EQ(ended.end.exit_code, 42);
  EXPECT_EQ(machine.out(), "before\n");
}

TEST(ProcessSubstrate, kills_its_workers_at_the_lease_end_though_no_agent_lives) {
  TestMachine machine;
  MUST(machine.substrate().hold_lease(milliseconds(400), milliseconds(200)));
  MUST(machine.substrate().start(shell("trap '' TERM; while :; do sleep 1000; done")));
  machine.close();
  EXPECT_TRUE(eventually([&] { return exists(machine.folder() + "/end"); }));
  machine.open();
  EXPECT_EQ(machine.wait_for(WorkerStatus::kEnded).end.cause, EndCause::kLeaseEnded);
  ASSERT_TRUE(machine.substrate().lease_left().has_value());
  EXPECT_LT(*machine.substrate().lease_left(), milliseconds(400));
}

TEST(ProcessSubstrate, lets_its_workers_run_on_while_the_lease_is_renewed) {
  TestMachine machine;
  MUST(machine.substrate().hold_lease(milliseconds(300), milliseconds(150)));
  MUST(machine.substrate().start(
      shell("while [ ! -e " + machine.path("go") + " ]; do sleep 0.01; done")));
  for (int i = 0; i < 20; ++i) {
    MUST(machine.substrate().hold_lease(seconds(20), seconds(20)));
    usleep(20'000);
  }
  MUST(write_atomically(machine.path("go"), "", false));
  EXPECT_EQ(machine.wait_for(WorkerStatus::kEnded).end.cause, EndCause::kExited);
}

// Complaint 29: ended work is started again after a restart.
TEST(ProcessSubstrate, never_starts_a_worker_whose_end_was_already_told) {
  TestMachine machine;
  machine.close();
  // An agent died between writing the order and starting the shim.
  std::filesystem::create_directories(machine.folder());
  machine.open();
  EXPECT_EQ(machine.state().end.cause, EndCause::kVanished);
  // A shim that comes late all the same finds the end and does nothing.
  EXPECT_NE(std::system((std::filesystem::read_symlink("/proc/self/exe").string() + " shim " +
                         machine.folder())
                            .c_str()),
            0);
  EXPECT_FALSE(exists(machine.folder() + "/running"));
}

TEST(ProcessSubstrate, takes_a_damaged_end_for_a_vanished_worker) {
  TestMachine machine;
  machine.run(shell("exit 3"));
  machine.close();
  MUST(write_atomically(machine.folder() + "/end", "torn", false));
  machine.open();
  EXPECT_EQ(machine.state().status, WorkerStatus::kEnded);
  EXPECT_EQ(machine.state().end.cause, EndCause::kVanished);
}

TEST(ProcessSubstrate, wakes_its_caller_when_a_worker_runs_and_when_it_ends) {
  TestMachine machine;
  ASSERT_TRUE(machine.substrate().start(shell("sleep 0.2"))
                  .ok());
  // Waits on the descriptor alone: a missed wake-up would hang until the timeout.
  const auto wake = [&] {
    pollfd wait{machine.substrate().wake_fd(), POLLIN, 0};
    return ::poll(&wait, 1, 10'000) == 1;
  };
  WorkerStatus status = WorkerStatus::kStarting;
  while (status == WorkerStatus::kStarting) {
    ASSERT_TRUE(wake());
    status = machine.state().status;
  }
  while (status != WorkerStatus::kEnded) {
    ASSERT_TRUE(wake());
    status = machine.state().status;
  }
  EXPECT_EQ(machine.state().end.cause, EndCause::kExited);
}

TEST(ProcessSubstrate, tells_the_caller_that_the_shim_cannot_be_started) {
  TestMachine machine;
  machine.options().shim_command = {"/no/such/shim"};
  machine.open();
  const Done refused = machine.substrate().start(shell("true"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_TRUE(machine.substrate().poll().empty());
  EXPECT_FALSE(exists(machine.folder()));
}

TEST(ProcessSubstrate, refuses_a_state_directory_that_is_not_absolute) {
  EXPECT_EQ(ProcessSubstrate::open({.state_dir = "here"}).error().code, Code::kInvalidArgument);
}

TEST(ProcessSubstrate, runs_two_hundred_quick_workers_and_leaves_nothing) {
  TestMachine machine;
  constexpr int32_t kWorkers = 200;
  for (int32_t rank = 0; rank < kWorkers; ++rank) {
    WorkerProcess process = shell("", rank);
    process.argv = {"true"};
    ASSERT_TRUE(machine.substrate().start(process).ok());
  }
  for (int32_t rank = 0; rank < kWorkers; ++rank) {
    const ProcessState ended = machine.wait_for(WorkerStatus::kEnded, rank);
    ASSERT_EQ(ended.end.cause, EndCause::kExited) << rank << " " << ended.end.last_words;
    ASSERT_EQ(ended.end.exit_code, 0);
    ASSERT_TRUE(machine.substrate().forget(worker_key(rank)).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(machine.path("workers")));
  EXPECT_TRUE(eventually([&] {
    machine.substrate().poll();
    return waitpid(-1, nullptr, WNOHANG) == -1;  // no shim is left, not even as a zombie
  }));
}

}  // namespace
}  // namespace keiko::process
