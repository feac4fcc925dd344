#include "drivers/substrate/process/log_pump.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include "drivers/substrate/process/test_machine.h"

namespace keiko::process {
namespace {

constexpr const char* kMark4KiB =
    "[keiko: output over 4KiB was dropped here; raise log_limit]\n";

TEST(LogPump, caps_a_worker_that_fills_its_log_and_marks_the_place) {
  TestMachine machine;
  WorkerProcess process = act("fill", "50000000");
  process.log_limit = kibibytes(4);
  const ProcessState ended = machine.run(process);
  EXPECT_EQ(ended.end.cause, EndCause::kExited) << "the program must not feel it";
  EXPECT_EQ(ended.end.exit_code, 0);
  const std::string log = machine.out();
  // 4096 bytes are 40 lines of 100 and a piece of one.
  EXPECT_EQ(log.substr(4096), std::string("\n") + kMark4KiB);
  EXPECT_EQ(log.substr(0, 100), std::string(99, 'x') + "\n");
}

TEST(LogPump, caps_each_stream_by_itself) {
  TestMachine machine;
  WorkerProcess process =
      shell("head -c 5000 /dev/zero; echo short >&2");
  process.log_limit = kibibytes(4);
  machine.run(process);
  EXPECT_EQ(machine.out().size(), 4096 + 1 + std::string(kMark4KiB).size());
  EXPECT_EQ(machine.err(), "short\n");
}

TEST(LogPump, leaves_output_of_exactly_the_limit_alone) {
  TestMachine machine;
  WorkerProcess process = shell("head -c 4096 /dev/zero");
  process.log_limit = kibibytes(4);
  machine.run(process);
  EXPECT_EQ(machine.out().size(), 4096u);
}

TEST(LogPump, keeps_all_of_a_large_output_up_to_the_last_byte) {
  TestMachine machine;
  machine.run(shell("seq 1 200000; echo done"));
  const std::string log = machine.out();
  EXPECT_EQ(log.substr(log.size() - 12), "200000\ndone\n");
  EXPECT_EQ(log.size(), 1'288'895u + 5u);  // sizes of the decimal numbers 1..200000, a line each
}

TEST(LogPump, keeps_the_order_of_streams_that_share_a_file) {
  TestMachine machine;
  machine.run(shell("for i in 1 2 3; do echo out$i; echo err$i >&2; done 2>&1"));
  EXPECT_EQ(machine.out(), "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
}

TEST(LogPump, shows_output_while_the_worker_runs) {
  TestMachine machine;
  ASSERT_TRUE(machine.substrate().start(shell("echo now; exec sleep 1000")).ok());
  EXPECT_TRUE(eventually([&] { return machine.out() == "now\n"; }));
}

TEST(LogPump, keeps_what_a_killed_worker_had_written) {
  TestMachine machine;
  ASSERT_TRUE(
      machine.substrate().start(shell("seq 1 1000; kill -KILL $$")).ok());
  EXPECT_EQ(machine.wait_for(WorkerStatus::kEnded).end.signal, SIGKILL);
  EXPECT_EQ(machine.out().size(), 3893u);
}

TEST(LogPump, fails_the_start_when_the_log_cannot_be_opened) {
  TestMachine machine;
  // A folder lies where the log should be.
  std::filesystem::create_directories(
      worker_paths(machine.options().state_dir, worker_key()).out);
  const ProcessState ended = machine.run(shell("true"));
  EXPECT_EQ(ended.end.cause, EndCause::kNodeFailed);
  EXPECT_NE(ended.end.last_words.find("cannot open the log"), std::string::npos);
}

/// /dev/full takes nothing, like a full disk.
TEST(LogPump, lets_the_program_run_on_when_the_disk_is_full) {
  LogPump pump("/dev/full", {});
  const Fd program = MUST(pump.open());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(write_all(program.get(), "line\n"));
    pump.drain();
  }
  EXPECT_GE(pump.fd(), 0);
  EXPECT_EQ(pump.lost(),
            "[keiko: output was dropped: No space left on device; it was for /dev/full]");
}

TEST(LogPump, lets_a_worker_fill_the_disk_and_still_tells_its_end) {
  TestMachine machine;
  machine.close();
  const std::string disk = machine.options().state_dir;
  if (mount("keiko-test", disk.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "may not mount a small disk";
  }
  machine.open();
  WorkerProcess process = act("fill", "8000000");
  const ProcessState ended = machine.run(process);
  EXPECT_EQ(ended.end.cause, EndCause::kExited) << ended.end.last_words;
  EXPECT_EQ(ended.end.exit_code, 0);
  EXPECT_LT(machine.out().size(), 1u << 20);
  EXPECT_EQ(ended.end.last_words,
            "[keiko: output was dropped: No space left on device; it was for " +
                worker_paths(disk, worker_key()).out + "]");
  machine.close();
  EXPECT_EQ(umount2(disk.c_str(), MNT_DETACH), 0);
  machine.open();
}

TEST(LogPump, stops_reading_when_the_program_has_closed_the_stream) {
  TestMachine machine;
  LogPump pump(machine.path("log"), {});
  Fd program = MUST(pump.open());
  ASSERT_TRUE(write_all(program.get(), "last"));
  program.reset();
  pump.drain();
  EXPECT_EQ(pump.fd(), -1);
  EXPECT_EQ(MUST(read_file(machine.path("log"))), "last");
}

}  // namespace
}  // namespace keiko::process
