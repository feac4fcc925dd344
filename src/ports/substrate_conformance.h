// What every Substrate must do, the fake and the drivers alike. A test program instantiates the
// suite with a factory of harnesses:
//
//   INSTANTIATE_TEST_SUITE_P(Fake, SubstrateConformance, testing::Values(&make_fake_harness));
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ports/substrate.h"

namespace keiko {

enum class SubstrateProgram : int {
  kSleep,       ///< runs until a signal
  kExit3,       ///< exits with 3 at once
  kIgnoreTerm,  ///< runs until SIGKILL; prints "deaf" once SIGTERM cannot end it any more
  kPrint,       ///< prints "hello" and exits with 0
  kMissing,     ///< a command that does not exist
};

/// One machine, one substrate on it, and what only the test may do to them.
class SubstrateHarness {
 public:
  virtual ~SubstrateHarness() = default;
  virtual Substrate& substrate() = 0;
  virtual void crash() = 0;          ///< the agent is gone; substrate() may not be called
  virtual void reopen() = 0;         ///< ... and is back
  virtual void let_time_pass() = 0;  ///< long enough for something to happen, if anything does
  virtual std::vector<std::string> argv(SubstrateProgram program) = 0;
  virtual std::string output(const WorkerKey& key) = 0;
  virtual void kill_keeper(const WorkerKey& key) = 0;  ///< what holds the worker's end dies
  /// From now on the program waits in the kernel, where no signal reaches it, until unhang().
  /// RETURNS: why that cannot be had here; empty if it is so.
  virtual std::string hang(const WorkerKey& key) = 0;
  virtual void unhang(const WorkerKey& key) = 0;
};
using SubstrateHarnessFactory = std::unique_ptr<SubstrateHarness> (*)();

class SubstrateConformance : public testing::TestWithParam<SubstrateHarnessFactory> {
 protected:
  void SetUp() override { harness_ = GetParam()(); }

  Substrate& substrate() { return harness_->substrate(); }
  static WorkerKey key(int32_t rank = 0) { return {JobId{7}, 1, rank}; }

  Done start(SubstrateProgram program, int32_t rank = 0, int32_t port = 0) {
    WorkerProcess process;
    process.key = key(rank);
    process.argv = harness_->argv(program);
    process.env = {{"PATH", "/usr/bin:/bin"}};
    process.workdir = "/";
    process.master_port = port;
    return substrate().start(process);
  }

  ProcessState state(int32_t rank = 0) {
    for (const ProcessState& found : substrate().poll()) {
      if (found.key == key(rank)) return found;
    }
    return {};
  }

  /// Lets time pass until the condition holds; the bound is far above what any machine needs.
  bool eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 2'000; ++i) {
      if (condition()) return true;
      harness_->let_time_pass();
    }
    return condition();
  }
  bool becomes(WorkerStatus status, int32_t rank = 0) {
    return eventually([&] { return state(rank).status == status; });
  }

  std::unique_ptr<SubstrateHarness> harness_;
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SubstrateConformance);

TEST_P(SubstrateConformance, reports_how_a_program_exited) {
  ASSERT_TRUE(start(SubstrateProgram::kExit3).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(state().end.cause, EndCause::kExited);
  EXPECT_EQ(state().end.exit_code, 3);
  EXPECT_EQ(state().end.signal, 0);
}

TEST_P(SubstrateConformance, shows_a_running_program_with_its_pid) {
  ASSERT_TRUE(start(SubstrateProgram::kSleep).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kRunning));
  EXPECT_GT(state().pid, 0);
  EXPECT_EQ(state().end.cause, EndCause::kNone);
}

TEST_P(SubstrateConformance, reports_the_signal_that_ended_a_program) {
  ASSERT_TRUE(start(SubstrateProgram::kSleep).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kRunning));
  ASSERT_TRUE(substrate().signal(key(), SIGTERM).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(state().end.cause, EndCause::kSignalled);
  EXPECT_EQ(state().end.signal, SIGTERM);
}

TEST_P(SubstrateConformance, delivers_a_signal_that_came_before_the_program_ran) {
  ASSERT_TRUE(start(SubstrateProgram::kSleep).ok());
  ASSERT_TRUE(substrate().signal(key(), SIGTERM).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(state().end.signal, SIGTERM);
}

TEST_P(SubstrateConformance, kills_a_program_that_ignores_sigterm) {
  ASSERT_TRUE(start(SubstrateProgram::kIgnoreTerm).ok());
  ASSERT_TRUE(eventually([&] { return harness_->output(key()) == "deaf\n"; }));
  ASSERT_TRUE(becomes(WorkerStatus::kRunning));
  ASSERT_TRUE(substrate().signal(key(), SIGTERM).ok());
  for (int i = 0; i < 3; ++i) harness_->let_time_pass();
  ASSERT_EQ(state().status, WorkerStatus::kRunning);
  ASSERT_TRUE(substrate().signal(key(), SIGKILL).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(state().end.signal, SIGKILL);
}

TEST_P(SubstrateConformance, says_in_a_sentence_why_a_program_could_not_start) {
  ASSERT_TRUE(start(SubstrateProgram::kMissing).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(state().end.cause, EndCause::kStartFailed);
  EXPECT_EQ(state().end.last_words.find("cannot run 'no-such-program': No such file or directory"),
            0u)
      << state().end.last_words;
}

TEST_P(SubstrateConformance, refuses_a_known_key_and_leaves_its_worker_alone) {
  ASSERT_TRUE(start(SubstrateProgram::kSleep).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kRunning));
  const int64_t pid = state().pid;
  const Done again = start(SubstrateProgram::kExit3);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  harness_->let_time_pass();
  EXPECT_EQ(state().status, WorkerStatus::kRunning);
  EXPECT_EQ(state().pid, pid);
}

TEST_P(SubstrateConformance, refuses_a_worker_without_a_command) {
  const Done refused = substrate().start({.key = key(), .argv = {}, .env = {}, .workdir = "/",
                                          .memory = {}, .cpus = {}, .log_limit = {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(substrate().poll().empty());
}

TEST_P(SubstrateConformance, finds_no_worker_for_a_key_it_does_not_know) {
  EXPECT_EQ(substrate().signal(key(), SIGTERM).error().code, Code::kNotFound);
  EXPECT_EQ(substrate().forget(key()).error().code, Code::kNotFound);
}

TEST_P(SubstrateConformance, does_not_signal_an_ended_worker) {
  ASSERT_TRUE(start(SubstrateProgram::kExit3).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(substrate().signal(key(), SIGTERM).error().code, Code::kNotFound);
}

TEST_P(SubstrateConformance, lists_workers_in_key_order) {
  for (const int32_t rank : {10, 2, 0, 9}) ASSERT_TRUE(start(SubstrateProgram::kSleep, rank).ok());
  std::vector<int32_t> ranks;
  for (const ProcessState& found : substrate().poll()) ranks.push_back(found.key.rank);
  EXPECT_EQ(ranks, (std::vector<int32_t>{0, 2, 9, 10}));
}

TEST_P(SubstrateConformance, adopts_a_running_worker_after_a_crash_and_gets_its_end) {
  ASSERT_TRUE(start(SubstrateProgram::kSleep).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kRunning));
  const int64_t pid = state().pid;
  harness_->crash();
  harness_->reopen();
  ASSERT_EQ(state().status, WorkerStatus::kRunning);
  EXPECT_EQ(state().pid, pid);
  ASSERT_TRUE(substrate().signal(key(), SIGTERM).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(state().end.signal, SIGTERM);
}

TEST_P(SubstrateConformance, adopts_a_worker_that_had_only_just_been_started) {
  ASSERT_TRUE(start(SubstrateProgram::kSleep).ok());
  harness_->crash();
  harness_->reopen();
  EXPECT_TRUE(becomes(WorkerStatus::kRunning));
}

TEST_P(SubstrateConformance, learns_after_a_crash_what_ended_meanwhile) {
  ASSERT_TRUE(start(SubstrateProgram::kPrint).ok());
  harness_->crash();
  for (int i = 0; i < 5; ++i) harness_->let_time_pass();
  harness_->reopen();
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(state().end.cause, EndCause::kExited);
  EXPECT_EQ(state().end.exit_code, 0);
}

TEST_P(SubstrateConformance, remembers_an_end_over_a_second_crash) {
  ASSERT_TRUE(start(SubstrateProgram::kExit3).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  harness_->crash();
  harness_->reopen();
  EXPECT_EQ(state().status, WorkerStatus::kEnded);
  EXPECT_EQ(state().end.exit_code, 3);
}

TEST_P(SubstrateConformance, tells_of_a_worker_that_vanished) {
  ASSERT_TRUE(start(SubstrateProgram::kSleep).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kRunning));
  harness_->kill_keeper(key());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(state().end.cause, EndCause::kVanished);
}

TEST_P(SubstrateConformance, tells_of_a_worker_that_vanished_while_nobody_looked) {
  ASSERT_TRUE(start(SubstrateProgram::kSleep).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kRunning));
  harness_->crash();
  harness_->kill_keeper(key());
  harness_->reopen();
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(state().end.cause, EndCause::kVanished);
}

TEST_P(SubstrateConformance, keeps_what_a_program_printed_even_after_forgetting_it) {
  ASSERT_TRUE(start(SubstrateProgram::kPrint).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(harness_->output(key()), "hello\n");
  ASSERT_TRUE(substrate().forget(key()).ok());
  EXPECT_EQ(harness_->output(key()), "hello\n");
}

TEST_P(SubstrateConformance, forgets_only_what_has_ended) {
  ASSERT_TRUE(start(SubstrateProgram::kSleep).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kRunning));
  EXPECT_EQ(substrate().forget(key()).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(state().status, WorkerStatus::kRunning);
  ASSERT_TRUE(substrate().signal(key(), SIGKILL).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  ASSERT_TRUE(substrate().forget(key()).ok());
  EXPECT_TRUE(substrate().poll().empty());
  EXPECT_EQ(substrate().forget(key()).error().code, Code::kNotFound);
}

TEST_P(SubstrateConformance, starts_a_forgotten_key_anew) {
  ASSERT_TRUE(start(SubstrateProgram::kExit3).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  ASSERT_TRUE(substrate().forget(key()).ok());
  ASSERT_TRUE(start(SubstrateProgram::kPrint).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_EQ(state().end.exit_code, 0);
}

TEST_P(SubstrateConformance, never_reserves_one_port_twice) {
  std::set<int32_t> ports;
  for (int32_t rank = 0; rank < 20; ++rank) {
    const Result<int32_t> port = substrate().reserve_port(key(rank));
    ASSERT_TRUE(port.ok()) << port.error().text();
    EXPECT_GT(*port, 1023);
    EXPECT_LT(*port, 65536);
    ports.insert(*port);
  }
  EXPECT_EQ(ports.size(), 20u);
  EXPECT_EQ(ports.count(MUST(substrate().reserve_port(key(3)))), 1u) << "a key keeps its port";
}

TEST_P(SubstrateConformance, shows_the_port_that_a_worker_took_over_also_after_a_crash) {
  const int32_t port = MUST(substrate().reserve_port(key()));
  ASSERT_TRUE(start(SubstrateProgram::kSleep, 0, port).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kRunning));
  EXPECT_EQ(state().master_port, port);
  EXPECT_EQ(MUST(substrate().reserve_port(key())), port) << "asked again, it is the same";
  harness_->crash();
  harness_->reopen();
  EXPECT_EQ(state().master_port, port);
  for (int32_t rank = 1; rank < 20; ++rank) {
    EXPECT_NE(MUST(substrate().reserve_port(key(rank))), port);
  }
}

TEST_P(SubstrateConformance, frees_a_reservation_that_nobody_took_over_by_forgetting_it) {
  ASSERT_TRUE(substrate().reserve_port(key()).ok());
  EXPECT_TRUE(substrate().forget(key()).ok());
  EXPECT_EQ(substrate().forget(key()).error().code, Code::kNotFound);
}

TEST_P(SubstrateConformance, tells_which_process_hangs_once_it_was_killed) {
  ASSERT_TRUE(start(SubstrateProgram::kSleep).ok());
  ASSERT_TRUE(becomes(WorkerStatus::kRunning));
  if (const std::string why = harness_->hang(key()); !why.empty()) GTEST_SKIP() << why;
  for (int i = 0; i < 3; ++i) harness_->let_time_pass();
  EXPECT_TRUE(state().hanging.empty()) << "nobody wants to kill it";
  const std::vector<int64_t> itself{state().pid};
  for (int opened = 0; opened < 2; ++opened) {
    ASSERT_TRUE(substrate().signal(key(), SIGKILL).ok());
    EXPECT_TRUE(eventually([&] { return state().hanging == itself; }));
    EXPECT_EQ(state().status, WorkerStatus::kRunning);
    EXPECT_EQ(substrate().forget(key()).error().code, Code::kFailedPrecondition);
    harness_->crash();
    harness_->reopen();
    EXPECT_EQ(state().status, WorkerStatus::kRunning) << "an agent after this one finds it";
  }
  harness_->unhang(key());
  ASSERT_TRUE(becomes(WorkerStatus::kEnded));
  EXPECT_TRUE(state().hanging.empty());
  EXPECT_EQ(state().end.signal, SIGKILL);
  EXPECT_TRUE(substrate().forget(key()).ok());
}

TEST_P(SubstrateConformance, shows_the_affinity_that_was_asked_for_also_after_a_crash) {
  WorkerProcess process;
  process.key = key();
  process.argv = harness_->argv(SubstrateProgram::kSleep);
  process.env = {{"PATH", "/usr/bin:/bin"}};
  process.workdir = "/";
  process.cpus = {0};
  ASSERT_TRUE(substrate().start(process).ok());
  EXPECT_EQ(state().cpus, std::vector<int32_t>{0});
  harness_->crash();
  harness_->reopen();
  EXPECT_EQ(state().cpus, std::vector<int32_t>{0});
}

TEST_P(SubstrateConformance, says_what_holds_its_workers_or_why_nothing_does) {
  const Isolation isolation = substrate().isolation();
  EXPECT_FALSE(isolation.cgroups.empty());
  EXPECT_FALSE(isolation.guards.empty());
  for (const Guard& guard : isolation.guards) {
    EXPECT_FALSE(guard.name.empty());
    EXPECT_TRUE(!guard.by.empty() || !guard.why_not.empty()) << guard.name;
  }
}

}  // namespace keiko
