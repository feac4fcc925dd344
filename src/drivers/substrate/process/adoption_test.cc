// Workers that an agent finds which were started by one of another version, or before a reboot.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "drivers/substrate/process/proc.h"
#include "drivers/substrate/process/test_machine.h"

namespace keiko::process {
namespace {

/// A process that is none of Keiko's, in a session of its own as a worker's program is.
class Stranger {
 public:
  Stranger() : pid_(fork()) {
    if (pid_ != 0) return;
    setsid();
    execl("/bin/sleep", "sleep", "1000", nullptr);
    _exit(127);
  }
  ~Stranger() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  ProcessIdentity identity() const { return identify(pid_); }
  bool lives() const { return waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  const pid_t pid_;
};

/// Records of a worker that ran under these two.
void leave_records(TestMachine& machine, const ProcessIdentity& shim,
                   const ProcessIdentity& program) {
  machine.close();
  std::filesystem::create_directories(machine.folder());
  LaunchRecord launch;
  launch.key = worker_key();
  launch.env["KEIKO_SOCKET"] = worker_paths(machine.options().state_dir, worker_key()).socket;
  MUST(write_record(machine.folder() + "/launch", launch, false));
  RunningRecord running;
  running.shim = shim;
  running.program = program;
  MUST(write_record(machine.folder() + "/running", running, false));
}

// ---- after a reboot: numbers of processes begin anew, and so do their start times ----

TEST(Adoption, leaves_a_stranger_alone_that_has_the_numbers_of_a_worker_of_before_the_reboot) {
  TestMachine machine;
  const Stranger stranger;
  ProcessIdentity before = stranger.identity();
  before.boot_id = "the boot before this one";
  leave_records(machine, before, before);
  machine.open();
  EXPECT_EQ(machine.state().status, WorkerStatus::kEnded);
  EXPECT_EQ(machine.state().end.cause, EndCause::kVanished);
  EXPECT_EQ(machine.state().end.last_words, "the machine was restarted while it ran");
  EXPECT_TRUE(stranger.lives());
  EXPECT_EQ(machine.substrate().signal(worker_key(), SIGKILL).error().code, Code::kNotFound);
  ASSERT_TRUE(machine.substrate().forget(worker_key()).ok());
  EXPECT_TRUE(stranger.lives());
}

TEST(Adoption, knows_that_a_worker_which_was_only_starting_died_by_the_reboot) {
  TestMachine machine;
  const Stranger stranger;
  ProcessIdentity before = stranger.identity();
  before.boot_id = "the boot before this one";
  leave_records(machine, before, before);
  std::filesystem::remove(machine.folder() + "/running");
  MUST(write_atomically(machine.folder() + "/lock", encode(before), false));
  machine.open();
  EXPECT_EQ(machine.state().end.cause, EndCause::kVanished);
  EXPECT_EQ(machine.state().end.last_words, "the machine was restarted while it ran");
  EXPECT_TRUE(stranger.lives());
}

TEST(Adoption, keeps_an_end_that_was_recorded_before_the_reboot) {
  TestMachine machine;
  machine.run(shell("exit 3"));
  const Stranger stranger;
  ProcessIdentity before = stranger.identity();
  before.boot_id = "the boot before this one";
  leave_records(machine, before, before);
  machine.open();
  EXPECT_EQ(machine.state().end.cause, EndCause::kExited);
  EXPECT_EQ(machine.state().end.exit_code, 3);
  EXPECT_TRUE(stranger.lives());
}

// ---- within one boot: numbers are given to others once they are free ----

TEST(Adoption, leaves_a_stranger_alone_that_was_given_the_numbers_of_a_dead_worker) {
  TestMachine machine;
  const Stranger stranger;
  ProcessIdentity before = stranger.identity();
  before.start_ticks -= 1;
  leave_records(machine, before, before);
  machine.open();
  EXPECT_EQ(machine.wait_for(WorkerStatus::kEnded).end.cause, EndCause::kVanished);
  EXPECT_TRUE(stranger.lives());
}

// ---- after an upgrade, or back from one ----

/// The launch record as the first version wrote it.
struct OldLaunch {
  LaunchRecord all;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "key", s.all.key);
    v(2, "argv", s.all.argv);
    v(3, "env", s.all.env);
    v(4, "workdir", s.all.workdir);
    v(5, "out", s.all.out);
    v(6, "err", s.all.err);
    v(13, "cgroup_root", s.all.cgroup_root);
    v(14, "cgroup_name", s.all.cgroup_name);
  }
};
struct OldRunning {
  RunningRecord all;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "shim", s.all.shim);
    v(2, "program", s.all.program);
  }
};

/// Records as a later version may write them: with more in them.
template <class Record>
struct Later {
  Record all;
  std::string more = "what this version knows nothing of";
  template <class S, class V> static void fields(S& s, V&& v) {
    Record::fields(s.all, v);
    v(200, "more", s.more);
  }
};

/// Has the records of a running worker rewritten while no agent is there.
template <class Launch, class Running>
void expect_adopted_from() {
  TestMachine machine;
  MUST(machine.substrate().start(shell("trap 'exit 5' TERM; touch " + machine.path("ready") +
                                       "; while :; do sleep 0.01; done")));
  const ProcessState before = machine.wait_for(WorkerStatus::kRunning);
  ASSERT_EQ(before.status, WorkerStatus::kRunning);
  machine.close();
  const std::string launch = machine.folder() + "/launch";
  const std::string running = machine.folder() + "/running";
  const LaunchRecord launched = MUST(read_record<LaunchRecord>(launch));
  const RunningRecord ran = MUST(read_record<RunningRecord>(running));
  MUST(write_record(launch, Launch{launched}, false));
  MUST(write_record(running, Running{ran}, false));
  machine.open();
  EXPECT_EQ(machine.state().status, WorkerStatus::kRunning);
  EXPECT_EQ(machine.state().pid, before.pid) << "nothing was killed";
  ASSERT_TRUE(eventually([&] { return exists(machine.path("ready")); }));  // its trap is set
  ASSERT_TRUE(machine.substrate().signal(worker_key(), SIGTERM).ok());
  EXPECT_EQ(machine.wait_for(WorkerStatus::kEnded).end.exit_code, 5);
}

TEST(Adoption, takes_over_workers_whose_records_an_older_version_wrote) {
  expect_adopted_from<OldLaunch, OldRunning>();
}

TEST(Adoption, takes_over_workers_whose_records_say_more_than_this_version_knows) {
  expect_adopted_from<Later<LaunchRecord>, Later<RunningRecord>>();
}

}  // namespace
}  // namespace keiko::process
