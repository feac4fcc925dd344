// How what is ill, was ill, or fails often changes where work goes.
#include <gtest/gtest.h>

#include "core/sched/device_choice.h"
#include "core/sched/sched_fixture.h"

namespace keiko::sched {
namespace {

HealthSubject device_of(const NodeState& node, size_t index) {
  return {"", HealthSubjectKind::kDevice, node.spec.devices[index].uuid};
}

std::vector<int32_t> devices_given(const State& state, const PassInput& input, JobId job) {
  for (const JobPlan& start : schedule(state, input).starts) {
    if (start.job == job) return start.placements.at(0).devices;
  }
  return {};
}

std::string node_given(const State& state, const PassInput& input, JobId job) {
  for (const JobPlan& start : schedule(state, input).starts) {
    if (start.job == job) return state.nodes.at(start.placements.at(0).node).spec.name;
  }
  return {};
}

TEST(Lemons, are_chosen_last_among_equals) {
  State state;
  const NodeState& node = add_node(state, "a", 4);
  const JobId job = add_job(state, 1, 1).id;
  EXPECT_EQ(devices_given(state, {}, job), std::vector<int32_t>{0});
  PassInput input;
  input.doubts[node.id][device_of(node, 0)] = {false, 2'000'000};
  input.doubts[node.id][device_of(node, 1)] = {false, 500'000};
  EXPECT_EQ(devices_given(state, input, job), std::vector<int32_t>{2});
}

TEST(Lemons, never_outweigh_links) {
  State state;
  NodeState& node = add_node(state, "a", 4);
  add_link(node, 0, 1, 300'000);
  const JobId job = add_job(state, 1, 2).id;
  PassInput input;
  input.doubts[node.id][device_of(node, 0)] = {false, 5'000'000};
  EXPECT_EQ(devices_given(state, input, job), (std::vector<int32_t>{0, 1}));
}

TEST(Lemons, of_equally_tight_nodes_the_sounder_one_is_taken) {
  State state;
  const NodeId first = add_node(state, "a", 2).id;
  add_node(state, "b", 2);
  const JobId one = add_job(state, 1, 1).id;
  PassInput input;
  input.doubts[first][HealthSubject{}] = {false, 100'000};
  EXPECT_EQ(node_given(state, input, one), "b");
  EXPECT_EQ(node_given(state, {}, one), "a");
  state.pending.clear();
  const JobId pair = add_job(state, 1, 2).id;
  EXPECT_EQ(node_given(state, input, pair), "b") << "where links are compared, too";
}

TEST(Probation, gets_short_or_unimportant_work_first) {
  State state;
  const NodeState& node = add_node(state, "a", 1);
  add_node(state, "b", 2);
  PassInput input;
  input.doubts[node.id][device_of(node, 0)] = {true, 0};
  JobState& job = add_job(state, 1, 1);
  EXPECT_EQ(node_given(state, input, job.id), "b") << "it may run for days";
  job.spec.time_limit = minutes(30);
  EXPECT_EQ(node_given(state, input, job.id), "a") << "the tightest node";
  job.spec.time_limit = {};
  job.spec.priority = -10;
  EXPECT_EQ(node_given(state, input, job.id), "a");
}

TEST(Probation, is_no_reason_to_wait) {
  State state;
  const NodeState& node = add_node(state, "a", 2);
  const JobId job = add_job(state, 1, 2).id;
  PassInput input;
  input.doubts[node.id][device_of(node, 1)] = {true, 0};
  EXPECT_EQ(devices_given(state, input, job), (std::vector<int32_t>{0, 1}));
  input.doubts[node.id][HealthSubject{}] = {true, 0};
  EXPECT_EQ(devices_given(state, input, job), (std::vector<int32_t>{0, 1}));
}

TEST(Quarantine, is_named_as_what_keeps_a_job_waiting) {
  State state;
  const NodeState& node = add_node(state, "a", 2);
  const JobId job = add_job(state, 1, 2).id;
  PassInput input;
  input.quarantined[node.id].insert(device_of(node, 1));
  const Verdict verdict = explain(state, job, input);
  using enum Cure;
  EXPECT_EQ(verdict.cured_by,
            (std::vector<Cure>{kQuarantineEnded, kNodeJoined, kSmallerAsk}))
      << "no job holds what it waits for";
  EXPECT_EQ(verdict.clauses.at(0).nearest, "a has 1 free and 1 in quarantine");
}

TEST(Quarantine, of_a_node_names_the_node_and_what_is_ill) {
  State state;
  const NodeState& node = add_node(state, "a", 2);
  add_node(state, "b", 1);
  const JobId job = add_job(state, 1, 2).id;
  PassInput input;
  input.ill[node.id] = "disk_low: 3MiB of 1GiB are free";
  EXPECT_EQ(node_given(state, input, job), "");
  const Verdict verdict = explain(state, job, input);
  EXPECT_EQ(verdict.clauses.at(0).name, "node is in quarantine");
  EXPECT_EQ(verdict.clauses.at(0).nearest, "a, disk_low: 3MiB of 1GiB are free");
  using enum Cure;
  EXPECT_EQ(verdict.cured_by, (std::vector<Cure>{kQuarantineEnded, kNodeJoined, kSmallerAsk}));
  const JobId large = add_job(state, 1, 4).id;
  EXPECT_EQ(explain(state, large, input).cured_by, (std::vector<Cure>{kNodeJoined, kSmallerAsk}))
      << "not even a well node could hold it";
}

}  // namespace
}  // namespace keiko::sched
