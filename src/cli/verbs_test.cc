// Every verb against a server in memory: what it prints, what it asks, how it ends.
#include "cli/verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/fake_client.h"
#include "cli/help.h"
#include "cli/job/yaml_tree.h"
#include "cli/logs/log_follow.h"
#include "cli/logs/log_options.h"
#include "cli/repository.h"
#include "cli/show/log_printer.h"

namespace keiko::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

v1::Job job_of(const std::string& id, const std::string& name, const std::string& status) {
  v1::Job job;
  job.set_id(id);
  job.mutable_spec()->set_name(name);
  job.mutable_spec()->set_user("ada");
  job.set_status(status);
  job.set_attempt(1);
  return job;
}

v1::LogPiece piece_of(int rank, const std::string& stream, int64_t offset,
                      const std::string& text) {
  v1::LogPiece piece;
  piece.set_attempt(1);
  piece.set_rank(rank);
  piece.set_stream(stream);
  piece.set_offset(offset);
  piece.set_data(text);
  return piece;
}

class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text) {
    std::string pattern = (std::filesystem::temp_directory_path() / "keiko_cli_XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    std::ofstream(path(name)) << text;
  }
  ~TemporaryFile() { std::filesystem::remove_all(directory_); }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

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
  EXPECT_EQ(world.run({"submit", "--device-kind", "h100", "--", "a"}), kExitRefused);
  EXPECT_THAT(world.err(),
              StartsWith("keiko submit: --devices: none asked for, but a device kind"));
  EXPECT_EQ(world.run({"submit"}), kExitRefused);
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
  EXPECT_EQ(world.dialled, "");
}

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
  EXPECT_EQ(world.run({"job", "?!"}), kExitRefused);
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

TEST(Actions, tell_each_job_and_fail_as_the_first_failure) {
  FakeWorld world;
  world.server.jobs = {job_of("j1", "a", "RUNNING"), job_of("j2", "b", "RUNNING")};
  EXPECT_EQ(world.run({"cancel", "j1", "j9", "b", "--reason", "wrong lr"}), kExitNotFound);
  EXPECT_EQ(world.out(), "j1 is told to cancel\nj2 is told to cancel\n");
  EXPECT_THAT(world.err(), HasSubstr("keiko cancel: j9: no job j9"));
  ASSERT_EQ(world.server.actions.size(), 3U);
  EXPECT_EQ(world.server.actions[0].why(), "wrong lr");
  for (const char* action : {"hold", "release", "requeue"}) {
    EXPECT_EQ(world.run({action, "j1"}), 0);
    EXPECT_EQ(world.server.actions.back().action(), action);
  }
  for (const char* action : {"cordon", "drain", "uncordon"}) {
    EXPECT_EQ(world.run({action, "node1", "--reason", "fan"}), 0);
    EXPECT_EQ(world.server.node_actions.back().action(), action);
    EXPECT_EQ(world.server.node_actions.back().why(), "fan");
  }
  EXPECT_EQ(world.run({"cancel"}), kExitUsage);
}

TEST(Nodes, and_devices_are_listed) {
  FakeWorld world;
  v1::Node node;
  node.set_name("node1");
  node.set_status("READY");
  node.add_devices()->set_kind("cpu");
  world.server.nodes = {node};
  EXPECT_EQ(world.run({"nodes", "-o", "name"}), 0);
  EXPECT_EQ(world.out(), "node1\n");
  EXPECT_EQ(world.run({"devices", "-o", "name"}), 0);
  EXPECT_EQ(world.out(), "node1/0\n");
  EXPECT_EQ(world.run({"node", "node1"}), 0);
  EXPECT_THAT(world.out(), HasSubstr("READY"));
  EXPECT_EQ(world.run({"node", "node9"}), kExitNotFound);
  world.server.nodes.clear();
  EXPECT_EQ(world.run({"nodes"}), 0);
  EXPECT_THAT(world.err(), HasSubstr("keiko agent --join"));
}

TEST(Events, come_as_lines_or_one_json_object_a_line) {
  FakeWorld world;
  for (int i = 1; i <= 2; ++i) {
    v1::Event event;
    event.set_cursor(static_cast<uint64_t>(i));
    event.set_name("job_placed");
    event.set_job("j" + std::to_string(i));
    event.set_text("on node1");
    *event.mutable_at() = stamp(seconds(1));
    world.server.events.push_back(event);
  }
  EXPECT_EQ(world.run({"events"}), 0);
  EXPECT_EQ(world.out(), "2026-12-02 07:59:59  job_placed            j1      on node1\n"
                         "2026-12-02 07:59:59  job_placed            j2      on node1\n");
  EXPECT_EQ(world.run({"events", "--job", "j2", "-o", "json"}), 0);
  EXPECT_EQ(Json::parse(world.out())["job"], "j2");
}

TEST(Version, is_known_without_a_server) {
  FakeWorld world;
  EXPECT_EQ(world.run({"version"}), 0);
  EXPECT_THAT(world.out(), StartsWith("keiko 0.1.0\nserver 1.2.3, term 4"));
  world.server.reachable = unavailable("cannot reach a Keiko server");
  EXPECT_EQ(world.run({"version"}), 0);
  EXPECT_EQ(world.out(), "keiko 0.1.0\n");
  EXPECT_EQ(world.run({"--version"}), 0);
  EXPECT_EQ(world.out(), "keiko 0.1.0\n");
}

TEST(ServerAddress, is_the_flag_the_variable_the_file_or_the_usual_port) {
  const TemporaryFile state("server.json",
                            R"({"pid": 1, "grpc": "127.0.0.1:4444", "http": "x:1"})");
  FakeWorld world;
  world.run({"jobs"});
  EXPECT_EQ(world.dialled, "localhost:7070");
  world.variables["KEIKO_STATE"] = state.directory();
  world.run({"jobs"});
  EXPECT_EQ(world.dialled, "127.0.0.1:4444");
  world.variables["KEIKO_SERVER"] = "other:1";
  world.run({"jobs"});
  EXPECT_EQ(world.dialled, "other:1");
  world.run({"jobs", "--state", state.directory()});
  EXPECT_EQ(world.dialled, "127.0.0.1:4444");
  world.run({"--server", "third:2", "jobs"});
  EXPECT_EQ(world.dialled, "third:2");
  EXPECT_EQ(world.run({"jobs", "--server", "noport"}), kExitRefused);
  EXPECT_THAT(world.err(), HasSubstr("write HOST:PORT"));
  const TemporaryFile broken("server.json", "{half");
  EXPECT_EQ(world.run({"jobs", "--state", broken.directory()}), kExitRefused);
  EXPECT_THAT(world.err(), HasSubstr("server.json does not name a server"));
}

TEST(ExitCodes, of_a_server_that_is_not_there) {
  FakeWorld world;
  world.server.reachable = unavailable("cannot reach a Keiko server at localhost:7070");
  for (const char* verb : {"jobs", "nodes", "devices", "events"}) {
    EXPECT_EQ(world.run({verb}), kExitUnavailable) << verb;
    EXPECT_EQ(world.err(),
              "keiko " + std::string(verb) + ": cannot reach a Keiko server at localhost:7070\n");
  }
  EXPECT_EQ(world.run({"run", "--", "a"}), kExitUnavailable);
}

TEST(CommandLine, unknown_verbs_and_options_name_the_nearest) {
  FakeWorld world;
  EXPECT_EQ(world.run({"jbos"}), kExitUsage);
  EXPECT_THAT(world.err(), HasSubstr("unknown verb 'jbos'; did you mean 'jobs'?"));
  EXPECT_EQ(world.run({"jobs", "--outptu", "json"}), kExitUsage);
  EXPECT_THAT(world.err(), HasSubstr("did you mean '--output'?\nTry 'keiko jobs --help'"));
  EXPECT_EQ(world.run({"jobs", "-o", "jsno"}), kExitUsage);
  EXPECT_THAT(world.err(), HasSubstr("did you mean 'json'?"));
  EXPECT_EQ(world.run({"job"}), kExitUsage);
  EXPECT_EQ(world.run({"job", "a", "b"}), kExitUsage);
  EXPECT_EQ(world.run({"--nonsense"}), kExitUsage);
  EXPECT_EQ(world.dialled, "");
}

TEST(CommandLine, help_is_grouped_and_has_examples) {
  FakeWorld world;
  EXPECT_EQ(world.run({}), 0);
  const std::string all = world.out();
  EXPECT_THAT(all, HasSubstr("Jobs:\n  submit "));
  EXPECT_EQ(world.run({"help"}), 0);
  EXPECT_EQ(world.out(), all);
  for (const Verb& verb : client_verbs()) {
    EXPECT_EQ(world.run({verb.name, "--help"}), 0);
    EXPECT_THAT(world.out(), HasSubstr("usage: keiko " + verb.name));
    EXPECT_THAT(world.out(), HasSubstr(verb.summary));
    if (verb.asks_server) {
      EXPECT_THAT(world.out(), HasSubstr("--server HOST:PORT"));
    }
    const std::string by_help = world.out();
    EXPECT_EQ(world.run({"help", verb.name}), 0);
    EXPECT_EQ(world.out(), by_help);
  }
  EXPECT_EQ(world.dialled, "");
}

TEST(CommandLine, takes_verbs_from_outside) {
  Verb server;
  server.name = "server";
  server.group = "Daemons";
  server.summary = "Run the server";
  server.asks_server = false;
  server.add_options = [](OptionSet& options) -> VerbRun {
    auto port = std::make_shared<int64_t>(7070);
    options.integer("--port", "N", *port, "where to listen");
    return [port](Invocation&) -> Result<int> { return static_cast<int>(*port % 256); };
  };
  FakeWorld world;
  EXPECT_EQ(world.run({"server", "--port", "42"}, {server}), 42);
  EXPECT_EQ(world.run({"help"}, {server}), 0);
  EXPECT_THAT(world.out(), HasSubstr("Daemons:\n  server      Run the server\n"));
}

TEST(Completion, scripts_are_sound_and_know_every_verb_and_option) {
  FakeWorld world;
  for (const std::string shell : {"bash", "zsh"}) {
    ASSERT_EQ(world.run({"completion", shell}), 0);
    for (const Verb& verb : client_verbs())
      EXPECT_THAT(world.out(), HasSubstr("    " + verb.name + ")"));
    EXPECT_THAT(world.out(), HasSubstr("--device-memory"));
    if (std::system(("command -v " + shell + " >/dev/null").c_str()) != 0) continue;
    const TemporaryFile script("script", world.out());
    EXPECT_EQ(std::system((shell + " -n " + script.path("script")).c_str()), 0) << shell;
  }
}

TEST(Completion, completes_in_a_real_bash) {
  FakeWorld world;
  ASSERT_EQ(world.run({"completion", "bash"}), 0);
  const TemporaryFile script("script", world.out() + R"(
keiko() { [ "$1" = jobs ] && echo j1 j12; }
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _keiko; echo "${COMPREPLY[*]}"; }
try keiko sub
try keiko job j1
try keiko jobs -o js
try keiko run --device-k
)");
  const std::string out = script.path("out");
  ASSERT_EQ(std::system(("bash " + script.path("script") + " >" + out).c_str()), 0);
  std::ifstream in(out);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(text, "submit\nj1 j12\njson\n--device-kind\n");
}

TEST(Reference, is_the_one_in_the_documents) {
  const std::string wanted = cli_reference(client_verbs());
  EXPECT_EQ(generated_part("docs/cli.md", "verbs", wanted), wanted)
      << "docs/cli.md is stale; run: KEIKO_UPDATE=1 test_cli --gtest_filter=Reference.*";
}

}  // namespace
}  // namespace keiko::cli
