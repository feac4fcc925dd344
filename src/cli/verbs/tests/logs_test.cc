// Output of workers: by rank, by time, by text, over broken connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "cli/logs/log_follow.h"
#include "cli/logs/log_options.h"
#include "cli/show/log_printer.h"
#include "cli/verbs/tests/verbs_fixture.h"

namespace keiko::cli {
namespace {

using ::testing::HasSubstr;

TEST(Logs, show_all_ranks_or_one) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "RUNNING")};
  world.server.jobs[0].mutable_spec()->set_workers(2);
  world.server.pieces = {piece_of(0, "out", 0, "zero\n"), piece_of(1, "out", 0, "one\n"),
                         piece_of(1, "err", 0, "oops\n")};
  EXPECT_EQ(world.run({"logs", "j1"}), 0);
  EXPECT_EQ(world.out(), "[0] zero\n[1] one\n");
  EXPECT_EQ(world.err(), "[1] oops\n");
  EXPECT_EQ(world.run({"logs", "j1", "--rank", "1", "--stdout"}), 0);
  EXPECT_EQ(world.out(), "one\n");
  EXPECT_EQ(world.err(), "");
  EXPECT_EQ(world.run({"logs", "j1", "--rank", "2"}), kExitRefused);
  EXPECT_THAT(world.err(), HasSubstr("j1 has no rank 2; its ranks are 0 to 1"));
}

TEST(Logs, tail_shows_the_last_lines_of_each_stream) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "RUNNING")};
  world.server.pieces = {piece_of(0, "out", 0, "1\n2\n3\n"), piece_of(0, "err", 0, "a\nb")};
  EXPECT_EQ(world.run({"logs", "j1", "--tail", "1"}), 0);
  EXPECT_EQ(world.out(), "3\n");
  EXPECT_EQ(world.err(), "b");
  EXPECT_EQ(world.run({"logs", "j1", "--tail", "2", "-f"}), 0);
  EXPECT_EQ(world.out(), "2\n3\n");
  EXPECT_EQ(world.run({"logs", "j1", "--tail", "0"}), 0);
  EXPECT_EQ(world.out(), "");
}

TEST(Logs, several_ranks_are_shown_each_with_its_number) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "RUNNING")};
  world.server.jobs[0].mutable_spec()->set_workers(4);
  for (int rank = 0; rank < 4; ++rank) {
    world.server.pieces.push_back(piece_of(rank, "out", 0, "line\n"));
  }
  EXPECT_EQ(world.run({"logs", "j1", "--rank", "0,2-3"}), 0);
  EXPECT_EQ(world.out(), "[0] line\n[2] line\n[3] line\n");
  EXPECT_EQ(world.run({"logs", "j1", "--rank", "1", "--rank", "3"}), 0);
  EXPECT_EQ(world.out(), "[1] line\n[3] line\n");
  EXPECT_EQ(world.run({"logs", "j1", "--rank", "2-4"}), kExitRefused);
  EXPECT_THAT(world.err(), HasSubstr("j1 has no rank 4; its ranks are 0 to 3"));
  EXPECT_EQ(world.run({"logs", "j1", "--rank", "first"}), kExitRefused);
  EXPECT_THAT(world.err(), HasSubstr("write ranks as 3, 0,2 or 4-7"));
}

TEST(Logs, grep_leaves_out_lines_that_do_not_match) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "RUNNING")};
  world.server.pieces = {piece_of(0, "out", 0, "step 1 lo"), piece_of(0, "out", 9, "ss 4\nstep"),
                         piece_of(0, "out", 18, " 2\nloss 3")};
  EXPECT_EQ(world.run({"logs", "j1", "--grep", "loss [0-9]$"}), 0);
  EXPECT_EQ(world.out(), "step 1 loss 4\nloss 3\n");
  EXPECT_EQ(world.run({"logs", "j1", "--grep", "("}), kExitRefused);
  EXPECT_THAT(world.err(), HasSubstr("--grep \"(\": "));
}

TEST(Logs, times_stand_before_lines_and_order_the_ranks) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "RUNNING")};
  world.server.jobs[0].mutable_spec()->set_workers(2);
  v1::LogPiece first = piece_of(0, "out", 0, "a\nb\nc\n");
  const int64_t second = 1'796'198'400;  // 2026-12-02 08:00:00
  const auto mark = [&](v1::LogPiece& piece, int64_t offset, int64_t at) {
    v1::LogMark& added = *piece.add_marks();
    added.set_offset(offset);
    added.mutable_at()->set_seconds(second + at);
  };
  mark(first, 0, 1);
  mark(first, 4, 5);
  v1::LogPiece other = piece_of(1, "out", 0, "x\n");
  mark(other, 0, 3);
  world.server.pieces = {first, other};
  EXPECT_EQ(world.run({"logs", "j1", "--times"}), 0);
  EXPECT_EQ(world.out(),
            "2026-12-02T08:00:01.000Z [0] a\n2026-12-02T08:00:01.000Z [0] b\n"
            "2026-12-02T08:00:03.000Z [1] x\n2026-12-02T08:00:05.000Z [0] c\n");
}

TEST(Logs, since_is_a_span_or_a_time) {
  const Time now = Time{} + seconds(1'796'198'400);
  EXPECT_EQ(MUST(parse_since("10m", now)), now - minutes(10));
  EXPECT_EQ(MUST(parse_since("2026-12-02T07:06:53Z", now)), now - seconds(53 * 60 + 7));
  EXPECT_EQ(MUST(parse_since("07:30", now)), now - minutes(30));
  EXPECT_EQ(MUST(parse_since("2026-12-01", now)), now - hours(32));
  EXPECT_EQ(parse_since("yesterday", now).error().code, Code::kInvalidArgument);
}

TEST(Logs, a_failed_job_names_who_failed_first) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "FAILED")};
  world.server.jobs[0].set_message("rank 1 on n1 exited with 3");
  world.server.pieces = {piece_of(0, "out", 0, "zero\n")};
  EXPECT_EQ(world.run({"logs", "j1"}), 0);
  EXPECT_EQ(world.out(), "zero\n");
  EXPECT_EQ(world.err(), "keiko logs: j1 FAILED: rank 1 on n1 exited with 3\n");
}

TEST(Logs, a_broken_connection_loses_and_repeats_nothing) {
  FakeWorld world;
  world.server.pieces = {piece_of(0, "out", 0, "one\n"), piece_of(0, "out", 4, "two\n"),
                         piece_of(0, "out", 8, "three\n"), piece_of(0, "out", 14, "four\n")};
  world.server.log_breaks = 2;
  std::string out;
  LogPrinter printer({}, world.terminal.console,
                     [&out](const std::string& text, bool) { out += text; });
  v1::ReadLogsRequest request;
  request.set_rank(-1);
  request.set_follow(true);
  int breaks = 0;
  FollowOptions options;
  options.on_break = [&breaks](const Error&) { ++breaks; };
  options.wait_to_retry = [] { return true; };
  ASSERT_TRUE(follow_logs(world.server, request, printer, options).ok());
  EXPECT_EQ(out, "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(breaks, 2);
}

}  // namespace
}  // namespace keiko::cli
