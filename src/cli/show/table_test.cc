// Tables, pages and pictures as they look.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cli/fake_client.h"
#include "cli/repository.h"
#include "cli/show/chart.h"
#include "cli/show/job_view.h"
#include "cli/show/live_screen.h"
#include "cli/show/live_view.h"
#include "cli/show/node_view.h"
#include "cli/show/output.h"

namespace keiko::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::Job running_job() {
  v1::Job job;
  job.set_id("j12");
  v1::JobSpec& spec = *job.mutable_spec();
  spec.set_name("gpt-small");
  spec.set_user("ada");
  spec.set_queue("default");
  spec.set_workers(2);
  spec.set_devices(1);
  spec.set_restarts(3);
  spec.add_command("python3");
  spec.add_command("train it.py");
  spec.set_workdir("/work");
  job.set_status("RUNNING");
  job.set_attempt(2);
  job.set_workers_running(2);
  job.add_nodes("node1");
  job.add_nodes("node2");
  for (int rank = 0; rank < 2; ++rank) {
    v1::Worker& worker = *job.add_workers();
    worker.set_rank(rank);
    worker.set_node("node" + std::to_string(rank + 1));
    worker.add_devices(rank);
    worker.set_status("running");
    worker.set_pid(4000 + rank);
    worker.mutable_progress()->set_step(1220 - rank);
    worker.mutable_progress()->set_loss(2.1043);
    worker.mutable_progress()->set_tokens_per_s(6150);
  }
  job.mutable_checkpoint()->set_step(1200);
  job.mutable_checkpoint()->set_ref("/data/ckpt/step-1200");
  v1::Progress& progress = *job.mutable_progress();
  progress.set_step(1220);
  progress.set_total_steps(2000);
  progress.set_loss(2.1043);
  progress.set_tokens_per_s(12'300);
  job.set_user_faults(1);
  *job.mutable_submitted_at() = stamp(minutes(5));
  *job.mutable_started_at() = stamp(seconds(92));
  v1::TimelineEntry& placed = *job.add_timeline();
  *placed.mutable_at() = stamp(seconds(92));
  placed.set_attempt(1);
  placed.set_what("job_placed");
  placed.set_text("2 workers on node1, node2");
  v1::TimelineEntry& ended = *job.add_timeline();
  *ended.mutable_at() = stamp(seconds(40));
  ended.set_attempt(1);
  ended.set_what("worker_ended");
  ended.set_text("rank 1 was killed by signal 9");
  return job;
}

v1::Job pending_job() {
  v1::Job job;
  job.set_id("j7");
  job.mutable_spec()->set_name("big");
  job.mutable_spec()->set_user("grace");
  job.mutable_spec()->set_workers(16);
  job.mutable_spec()->set_devices(8);
  job.set_status("PENDING");
  job.set_reason("WaitingForResources");
  *job.mutable_submitted_at() = stamp(hours(3));
  return job;
}

google::protobuf::RepeatedPtrField<v1::Job> both_jobs() {
  google::protobuf::RepeatedPtrField<v1::Job> jobs;
  *jobs.Add() = running_job();
  *jobs.Add() = pending_job();
  return jobs;
}

TEST(JobsTable, says_who_runs_where_and_who_waits_why) {
  const FakeTerminal terminal;
  EXPECT_EQ(table_text(jobs_table(both_jobs(), terminal.console.now()), {}, terminal.console),
            "JOB  NAME       USER   STATUS   WORKERS  DEVICES  AGE  NODES(REASON)\n"
            "j12  gpt-small  ada    RUNNING      2/2        2   5m  node1,node2\n"
            "j7   big        grace  PENDING     0/16      128   3h  (WaitingForResources)\n");
}

TEST(JobsTable, shows_more_when_wide_and_no_head_when_asked) {
  const FakeTerminal terminal;
  EXPECT_EQ(
      table_text(jobs_table(both_jobs(), terminal.console.now()), {true, false, nullptr},
                 terminal.console),
      "j12  gpt-small  ada    RUNNING   2/2    2  5m  default  0  2  61%  step 1,200  node1,node2\n"
      "j7   big        grace  PENDING  0/16  128  3h  -        0  0    -           -  "
      "(WaitingForResources)\n");
}

TEST(JobsTable, keeps_to_the_width_of_a_terminal) {
  FakeTerminal terminal;
  terminal.console.terminal = true;
  terminal.console.size = [] { return ScreenSize{64, 24}; };
  EXPECT_EQ(table_text(jobs_table(both_jobs(), terminal.console.now()), {}, terminal.console),
            "JOB  NAME       USER   STATUS   WORKERS  DEVICES  AGE  NODES(RE…\n"
            "j12  gpt-small  ada    RUNNING      2/2        2   5m  node1,no…\n"
            "j7   big        grace  PENDING     0/16      128   3h  (Waiting…\n");
}

TEST(JobsTable, colours_only_on_a_terminal_that_wants_them) {
  FakeTerminal terminal;
  const Table table = jobs_table(both_jobs(), terminal.console.now());
  EXPECT_THAT(table_text(table, {}, terminal.console), Not(HasSubstr("\033")));
  terminal.console.colour = true;
  EXPECT_THAT(table_text(table, {}, terminal.console), HasSubstr("\033[32mRUNNING\033[0m"));
}

TEST(JobsTable, a_name_cannot_command_the_terminal) {
  const FakeTerminal terminal;
  const Table table{{{"A"}}, {{"x\033[2Jy\nz"}}};
  EXPECT_EQ(table_text(table, {}, terminal.console), "A\nx [2Jy z\n");
}

TEST(JobPage, tells_all_about_a_job) {
  const FakeTerminal terminal;
  EXPECT_EQ(job_page(running_job(), terminal.console),
            "Job         j12  gpt-small\n"
            "Status      RUNNING\n"
            "User        ada, queue default, priority 0\n"
            "Command     python3 'train it.py'\n"
            "Directory   /work\n"
            "Asks for    2 workers, each 1 device, 1 cpu\n"
            "Runs on     node1,node2\n"
            "Attempt     2\n"
            "Submitted   2026-12-02 07:55:00 (5m ago)\n"
            "Ran for     1m 32s\n"
            "Progress    step 1,220 of 2,000 (61%), loss 2.1043, 12.3k tokens/s\n"
            "Checkpoint  step 1,200  /data/ckpt/step-1200\n"
            "Faults      1 of 3 its own, 0 of 20 of the infrastructure\n"
            "\nWorkers\n"
            "RANK  NODE   DEVICES  STATUS    STEP   PID\n"
            "   0  node1  0        running  1,220  4000\n"
            "   1  node2  1        running  1,219  4001\n"
            "\nTimeline\n"
            "AT                   ATTEMPT  WHAT          DETAIL\n"
            "2026-12-02 07:58:28        1  job_placed    2 workers on node1, node2\n"
            "2026-12-02 07:59:20        1  worker_ended  rank 1 was killed by signal 9\n");
}

TEST(JobPage, shows_the_last_words_of_the_rank_that_failed) {
  const FakeTerminal terminal;
  v1::Job job = running_job();
  job.set_status("FAILED");
  job.set_exit_code(1);
  v1::Worker& worker = *job.mutable_workers(1);
  worker.set_status("ended");
  worker.mutable_end()->set_cause("exited");
  worker.mutable_end()->set_exit_code(1);
  worker.mutable_end()->set_last_words("Traceback\nValueError: \033[31mno\n");
  const std::string page = job_page(job, terminal.console);
  EXPECT_THAT(page, HasSubstr("Exit code   1\n"));
  EXPECT_THAT(page, HasSubstr("Last words of rank 1\n  Traceback\n  ValueError:  [31mno\n"));
  EXPECT_THAT(page, HasSubstr("   1  node2  1        exit 1   1,219  4001\n"));
}

TEST(WhyPage, counts_each_condition_and_says_what_would_help) {
  const FakeTerminal terminal;
  v1::Verdict verdict;
  verdict.set_sentence("16 workers need 8 free devices each; 3 nodes have none.");
  v1::Clause& clause = *verdict.add_clauses();
  clause.set_name("8 free devices");
  clause.set_rejected(3);
  clause.set_nearest("node3 has 6 free");
  verdict.add_cured_by("devices_freed");
  verdict.add_cured_by("quarantine_ended");
  verdict.add_cured_by("smaller_ask");
  EXPECT_EQ(verdict_page(pending_job(), verdict, terminal.console),
            "j7 (big) is PENDING\n"
            "16 workers need 8 free devices each; 3 nodes have none.\n"
            "\nWhat the nodes lack\n"
            "CONDITION       NODES  NEAREST\n"
            "8 free devices      3  node3 has 6 free\n"
            "\nWhat would change that\n"
            "  - a job ends and frees its devices\n"
            "  - a device or node comes back from quarantine (keiko health)\n"
            "  - a smaller ask: fewer workers, fewer devices or another kind\n");
}

v1::Node a_node() {
  v1::Node node;
  node.set_id("n1");
  node.set_name("node1");
  node.set_status("READY");
  node.set_address("10.0.0.1");
  node.set_cpu_milli(4000);
  node.set_cpu_taken_milli(1500);
  node.set_memory(gibibytes(16).count);
  node.set_devices_taken(1);
  node.set_worker_count(1);
  node.set_connected(true);
  node.set_version("0.1.0");
  *node.mutable_joined_at() = stamp(minutes(90));
  for (int i = 0; i < 2; ++i) {
    v1::Device& device = *node.add_devices();
    device.set_index(i);
    device.set_kind("cpu");
    device.set_vendor("cpu");
    device.set_memory(gibibytes(2).count);
    device.set_uuid("CPU-" + std::to_string(i));
    if (i == 0) device.set_worker("j12.2.0");
  }
  (*node.mutable_labels())["zone"] = "a";
  return node;
}

TEST(NodesTable, shows_what_is_taken_of_what) {
  const FakeTerminal terminal;
  google::protobuf::RepeatedPtrField<v1::Node> nodes;
  *nodes.Add() = a_node();
  EXPECT_EQ(table_text(nodes_table(nodes, terminal.console.now()), {}, terminal.console),
            "NODE   STATUS  DEVICES  KIND    CPU  MEMORY  WORKERS  AGE  WHY\n"
            "node1  READY       1/2  cpu   1.5/4   16GiB        1  90m  -\n");
  EXPECT_EQ(table_text(devices_table(nodes), {}, terminal.console),
            "DEVICE   KIND  MEMORY  NODE STATUS  WORKER\n"
            "node1/0  cpu     2GiB  READY        j12.2.0\n"
            "node1/1  cpu     2GiB  READY        -\n");
  EXPECT_THAT(
      node_page(a_node(), terminal.console),
      HasSubstr("CPU         1.5 of 4 taken\nMemory      0B of 16GiB taken\nLabels      zone=a\n"));
}

TEST(NodesTable, says_why_a_node_takes_no_work) {
  const FakeTerminal terminal;
  v1::Node node = a_node();
  node.set_status("CORDONED");
  node.set_duty_why("broken fan");
  EXPECT_THAT(node_page(node, terminal.console), HasSubstr("Status      CORDONED (broken fan)\n"));
  google::protobuf::RepeatedPtrField<v1::Node> nodes;
  *nodes.Add() = node;
  EXPECT_THAT(table_text(nodes_table(nodes, terminal.console.now()), {}, terminal.console),
              HasSubstr("  90m  broken fan\n"));
}

TEST(NodesTable, shows_what_devices_measure_where_they_do) {
  const FakeTerminal terminal;
  v1::Node node = a_node();
  v1::DeviceReading& reading = *node.mutable_devices(1)->mutable_reading();
  reading.set_utilisation_ratio(0.974);
  reading.set_memory_used_bytes(mebibytes(1536).count);
  reading.set_temperature_celsius(61);
  reading.set_power_watts(649.6);
  reading.set_power_limit_watts(700);
  node.mutable_reading()->set_cpu_utilisation_ratio(0.25);
  node.mutable_reading()->set_memory_available_bytes(gibibytes(12).count);
  const std::string page = node_page(node, terminal.console);
  EXPECT_THAT(page, HasSubstr("CPU         1.5 of 4 taken, 25% busy\n"));
  EXPECT_THAT(page, HasSubstr("Memory      0B of 16GiB taken, 12GiB available\n"));
  EXPECT_THAT(page, HasSubstr("WORKER   BUSY    USED  TEMP     POWER\n"));
  EXPECT_THAT(page, HasSubstr("j12.2.0     -       -     -         -\n"));
  EXPECT_THAT(page, HasSubstr("-         97%  1.5GiB   61C  650/700W\n"));
}

TEST(NodeNames, are_shown_as_runs) {
  EXPECT_EQ(nodes_text({"a", "b"}), "a,b");
  EXPECT_EQ(nodes_text({"node1", "node2", "node3", "node7"}), "node[1-3,7]");
  EXPECT_EQ(nodes_text({"node01", "node02", "node03"}), "node01,node02,node03");
  EXPECT_EQ(nodes_text({"x1", "x2", "y3"}), "x1,x2,y3");
}

TEST(Ages, have_one_unit) {
  EXPECT_EQ(age_text(seconds(0)), "0s");
  EXPECT_EQ(age_text(seconds(119)), "119s");
  EXPECT_EQ(age_text(minutes(119)), "119m");
  EXPECT_EQ(age_text(hours(47)), "47h");
  EXPECT_EQ(age_text(hours(24 * 100)), "100d");
}

TEST(RunningTimes, are_exact_where_it_matters) {
  EXPECT_EQ(span_text(seconds(-1)), "0s");
  EXPECT_EQ(span_text(milliseconds(40)), "0s");
  EXPECT_EQ(span_text(milliseconds(450)), "0.4s");
  EXPECT_EQ(span_text(milliseconds(12'900)), "12s");
  EXPECT_EQ(span_text(seconds(92)), "1m 32s");
}

TEST(Numbers, are_short_for_people) {
  EXPECT_EQ(short_number(999), "999");
  EXPECT_EQ(short_number(12'345), "12.3k");
  EXPECT_EQ(short_number(4'560'000), "4.56M");
  EXPECT_EQ(grouped(-1'234'567), "-1,234,567");
  EXPECT_EQ(bar_text(0.5, 4), "██░░");
  EXPECT_EQ(bar_text(0.56, 4), "██▎░");
  EXPECT_EQ(bar_text(7, 2), "██");
}

TEST(YamlOutput, is_the_json_in_yaml) {
  EXPECT_EQ(json_to_yaml(R"({"a": 1, "b": [], "c": {}, "d": ["x y", "true", {"e": [1, 2], "f": ""}],
                              "g": {"h": "5"}})"),
            "a: 1\n"
            "b: []\n"
            "c: {}\n"
            "d:\n"
            "- \"x y\"\n"
            "- \"true\"\n"
            "- e:\n"
            "  - 1\n"
            "  - 2\n"
            "  f: \"\"\n"
            "g:\n"
            "  h: \"5\"\n");
}

std::vector<Point> falling(int count) {
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) points.push_back({i * 10, 2 + 2.0 / (1 + i * 0.2)});
  return points;
}

TEST(Curve, is_drawn_in_blocks_with_both_axes) {
  EXPECT_THAT(curve_lines(falling(60), {40, 5}),
              ::testing::ElementsAre("  3.833 ┤█                              ",  //
                                     "        │█▅                             ",
                                     "  2.995 ┤██▆▂                           ",
                                     "        │████▇▄▃▁                       ",
                                     "  2.157 ┤█████████▇▇▆▆▅▄▄▄▃▃▃▃▂▂▂▂▂▂▁▁▁▁",
                                     "        └───────────────────────────────",
                                     "         0                      step 590"));
}

TEST(Curve, survives_odd_numbers) {
  const double nan = std::nan("");
  EXPECT_THAT(curve_lines({{1, 2.0}}, {40, 5}), ::testing::Each(""));
  EXPECT_THAT(curve_lines({{1, nan}, {2, nan}}, {40, 5}), ::testing::Each(""));
  const std::vector<std::string> flat = curve_lines({{5, 1.0}, {5, 1.0}, {9, 1.0}}, {40, 1});
  EXPECT_EQ(flat.size(), 3U);
  for (const std::string& line : flat) EXPECT_LE(display_width(line), 40U) << line;
}

LiveView trained_view() {
  LiveView view;
  v1::Job job = running_job();
  const FakeTerminal terminal;
  for (int i = 1; i <= 61; ++i) {
    job.mutable_progress()->set_step(i * 20);
    job.mutable_progress()->set_loss(2 + 2.0 / (1 + i * 0.2));
    job.mutable_progress()->set_tokens_per_s(12'000 + i);
    view.update(job, terminal.console.now() - seconds(61 - i));
  }
  return view;
}

std::string joined(const std::vector<std::string>& lines) { return join(lines, "\n") + "\n"; }

TEST(LiveViewPicture, shows_progress_curve_workers_and_events) {
  FakeTerminal terminal;
  terminal.console.size = [] { return ScreenSize{80, 24}; };
  const std::string picture = joined(trained_view().lines(terminal.console));
  EXPECT_EQ(picture, read_repository_file("src/cli/show/live_view.txt")) << picture;
}

TEST(LiveViewPicture, fits_every_terminal) {
  const LiveView view = trained_view();
  for (const ScreenSize size :
       {ScreenSize{40, 10}, ScreenSize{80, 24}, ScreenSize{200, 60}, ScreenSize{20, 5}}) {
    FakeTerminal terminal;
    terminal.console.terminal = true;
    terminal.console.size = [size] { return size; };
    LiveScreen screen(terminal.console);
    screen.draw(view.lines(terminal.console));
    size_t lines = 0;
    for (const std::string& line : split(terminal.out, '\n')) {
      EXPECT_LE(display_width(line), static_cast<size_t>(size.width) + 12) << line;
      ++lines;
    }
    EXPECT_LE(lines, static_cast<size_t>(size.height));
  }
}

TEST(LiveViewNews, are_plain_lines_without_repeats) {
  LiveView view;
  v1::Job job = running_job();
  const FakeTerminal terminal;
  const Time now = terminal.console.now();
  view.update(job, now);
  EXPECT_EQ(view.news(),
            "j12 RUNNING\n"
            "07:58:28  job_placed  2 workers on node1, node2\n"
            "07:59:20  worker_ended  rank 1 was killed by signal 9\n"
            "step 1220/2000  loss 2.1043  12.3k tokens/s\n");
  EXPECT_EQ(view.news(), "");
  job.mutable_progress()->set_step(1221);
  view.update(job, now + seconds(1));
  EXPECT_EQ(view.news(), "");
  job.mutable_progress()->set_step(1240);
  view.update(job, now + seconds(6));
  EXPECT_EQ(view.news(), "step 1240/2000  loss 2.1043  12.3k tokens/s\n");
  job.set_status("COMPLETED");
  job.mutable_progress()->set_step(2000);
  view.update(job, now + seconds(7));
  EXPECT_EQ(view.news(), "j12 COMPLETED\nstep 2000/2000  loss 2.1043  12.3k tokens/s\n");
}

TEST(LiveScreenDrawing, sends_only_what_changed) {
  FakeTerminal terminal;
  terminal.console.terminal = true;
  LiveScreen screen(terminal.console);
  screen.draw({"one", "two", "three"});
  EXPECT_EQ(terminal.out, "\033[?25l\rone\033[K\r\ntwo\033[K\r\nthree\033[K\r\n");
  terminal.out.clear();
  screen.draw({"one", "two", "three"});
  EXPECT_EQ(terminal.out, "");
  screen.draw({"one", "2", "three"});
  EXPECT_EQ(terminal.out, "\r\033[3A\r\n2\033[K\r\n\r\n");
  terminal.out.clear();
  screen.draw({"one"});
  EXPECT_EQ(terminal.out, "\r\033[3A\r\n\033[J");
  terminal.out.clear();
  screen.print_above("log\n");
  EXPECT_EQ(terminal.out, "\r\033[1A\033[Jlog\none\r\n");
  terminal.out.clear();
  screen.close();
  EXPECT_EQ(terminal.out, "\033[?25h");
}

TEST(LiveScreenDrawing, says_how_many_lines_do_not_fit) {
  FakeTerminal terminal;
  terminal.console.terminal = true;
  terminal.console.size = [] { return ScreenSize{80, 4}; };  // the cursor's own line is the fourth
  LiveScreen screen(terminal.console);
  screen.draw({"one", "two", "three"});
  EXPECT_EQ(terminal.out.find("more"), std::string::npos) << terminal.out;
  screen.draw({"one", "two", "three", "four", "five"});
  EXPECT_EQ(terminal.out.find("four"), std::string::npos);
  EXPECT_NE(terminal.out.find("... 3 more lines"), std::string::npos) << terminal.out;
}

TEST(TextWidth, counts_columns_not_bytes) {
  EXPECT_EQ(display_width("稽古"), 4U);
  EXPECT_EQ(display_width("é█"), 2U);
  EXPECT_EQ(display_width("\033[32mab\033[0m"), 2U);
  EXPECT_EQ(shorten("稽古keiko", 6), "稽古k…");
  EXPECT_EQ(display_width("\xff\xfe"), 2U);
  EXPECT_EQ(printable(std::string("a\x1b\x9f\x00", 4) + "é"), "a \xEF\xBF\xBD é");
}

}  // namespace
}  // namespace keiko::cli
