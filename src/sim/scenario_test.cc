#include "sim/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/scenario_json.h"

namespace keiko::sim {
namespace {

std::filesystem::path scenario_folder() {
  const std::string here = __FILE__;  // <root>/src/sim/scenario_test.cc
  return here.substr(0, here.rfind("/src/")) + "/tests/scenarios";
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Scenarios, every_file_holds_under_the_virtual_clock) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scenario_folder())) {
    if (entry.path().extension() != ".txt") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++files;
    const Result<Scenario> scenario = parse_scenario(read(entry.path()));
    ASSERT_TRUE(scenario.ok()) << scenario.error().text();
    const ScenarioReport report = run_scenario(*scenario);
    for (const std::string& failure : report.failures) ADD_FAILURE() << failure;
    EXPECT_EQ(report.trace, scenario->expected)
        << "`keiko sim scenario " << entry.path().string() << " --update` rewrites the trace";
  }
  EXPECT_GE(files, 10);
}

TEST(Scenarios, an_expectation_that_does_not_hold_is_a_failure_that_names_its_line) {
  const Scenario scenario =
      MUST(parse_scenario("cluster nodes=1 devices=1\njob a run=5s\nat 1s submit a\nat 2s expect a "
                          "COMPLETED\nend 3s\n"));
  const ScenarioReport report = run_scenario(scenario);
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_NE(report.failures[0].find("line 4"), std::string::npos) << report.failures[0];
  EXPECT_NE(report.failures[0].find("'RUNNING', not 'COMPLETED'"), std::string::npos);
}

TEST(Scenarios, a_word_that_is_not_understood_names_its_line) {
  const auto error_of = [](const std::string& text) { return parse_scenario(text).error(); };
  EXPECT_EQ(error_of("cluster nodes=1\nclustr nodes=2\n").where, "line 2");
  EXPECT_EQ(error_of("cluster size=3\n").where, "line 1");
  EXPECT_EQ(error_of("\njob a runs=5s\n").where, "line 2");
  EXPECT_EQ(error_of("job a workers=0\n").where, "line 1");
  EXPECT_EQ(error_of("clock virtual\n").where, "line 1") << "the reason is missing";
}

TEST(Scenarios, the_reason_of_a_job_that_waits_is_why_it_waits_as_clients_see_it) {
  const Scenario scenario = MUST(parse_scenario(
      "cluster nodes=1 devices=1\njob a run=5s\nat 1s submit a\nat 3s crash machine n1\n"
      "at 30s expect a PENDING reason=WaitingForResources\nend 31s\n"));
  EXPECT_THAT(run_scenario(scenario).failures, testing::IsEmpty());
}

TEST(Scenarios, json_says_all_that_a_runner_of_real_processes_needs) {
  const Scenario scenario = MUST(parse_scenario(
      "# Title.\nclock virtual too long for real\ncluster nodes=1 devices=2\n"
      "job a workers=2 run=5s exit=3 restarts=1\nat 1500ms kill a rank=1\nend 8s\n----\n"
      "    2.001 server: job_submitted job=j1 name=a\n"));
  const std::string json = to_json(scenario, "x.txt");
  for (const char* part :
       {R"("file":"x.txt")", R"("title":"Title.")", R"("virtual_only":true)",
        R"("virtual_because":"too long for real")", R"("devices":2)", R"("name":"n1")",
        R"("workers":2)", R"("restarts":1)", R"("run_ms":5000)", R"("exit_code":3)",
        R"({"at_ms":1500,"line":5,"words":["kill","a","rank=1"]})", R"("end_ms":8000)",
        R"({"at":"2.001","line":8,"name":"job_submitted","text":"job=j1 name=a",)"
        R"("who":"server"})"}) {
    EXPECT_THAT(json, testing::HasSubstr(part));
  }
}

TEST(Scenarios, update_keeps_the_head_and_replaces_the_trace) {
  const std::string head = "# Title.\ncluster nodes=1\nend 1s\n";
  const Scenario scenario = MUST(parse_scenario(head + "----\nold\n"));
  EXPECT_EQ(scenario.title, "Title.");
  EXPECT_EQ(scenario.expected, "old\n");
  ScenarioReport report;
  report.trace = "new\n";
  EXPECT_EQ(updated(scenario, report), head + "----\nnew\n");
}

}  // namespace
}  // namespace keiko::sim
