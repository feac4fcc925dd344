#include "core/sched/schedule.h"

#include <gtest/gtest.h>

#include <set>

#include "base/prng.h"
#include "core/sched/sched_fixture.h"

namespace keiko::sched {
namespace {

using Devices = std::vector<int32_t>;

TEST(GangPlacement, places_all_members_or_none) {
  State state;
  add_node(state, "a", 4);
  add_node(state, "b", 4);
  const JobId whole = add_job(state, 8, 1).id;
  const Plan plan = schedule(state, {});
  ASSERT_EQ(plan.starts.size(), 1u);
  EXPECT_EQ(plan.starts[0].job, whole);
  std::set<std::pair<uint64_t, int32_t>> used;
  for (size_t rank = 0; rank < 8; ++rank) {
    const Placement& place = plan.starts[0].placements[rank];
    EXPECT_EQ(place.rank, static_cast<int32_t>(rank));
    ASSERT_EQ(place.devices.size(), 1u);
    EXPECT_TRUE(used.emplace(place.node.number, place.devices[0]).second);
  }

  State short_of_one;
  add_node(short_of_one, "a", 4);
  occupy(add_node(short_of_one, "b", 4), {2});
  const JobId waits = add_job(short_of_one, 8, 1).id;
  const Plan none = schedule(short_of_one, {});
  EXPECT_TRUE(none.starts.empty());
  EXPECT_EQ(none.verdicts.at(waits).fit, Fit::kNotNow);
  EXPECT_EQ(none.verdicts.at(waits).reason, Reason::kWaitingForResources);
  EXPECT_NE(none.verdicts.at(waits).sentence.find("7 of its 8"), std::string::npos);
}

TEST(GangPlacement, takes_the_tightest_node_that_holds_the_whole_gang) {
  State state;
  add_node(state, "empty", 8);
  const NodeId tight = [&] {
    NodeState& node = add_node(state, "tight", 8);
    occupy(node, {0, 1, 2, 3, 4});
    return node.id;
  }();
  add_job(state, 3, 1);
  const Plan plan = schedule(state, {});
  ASSERT_EQ(plan.starts.size(), 1u);
  for (const Placement& place : plan.starts[0].placements) EXPECT_EQ(place.node, tight);
}

TEST(GangPlacement, touches_as_few_nodes_as_possible) {
  State state;
  for (const char* name : {"a", "b", "c"}) occupy(add_node(state, name, 4), {0, 1});
  add_node(state, "d", 4);
  add_job(state, 6, 1);
  const Plan plan = schedule(state, {});
  ASSERT_EQ(plan.starts.size(), 1u);
  std::set<NodeId> nodes;
  for (const Placement& place : plan.starts[0].placements) nodes.insert(place.node);
  EXPECT_EQ(nodes.size(), 2u);
}

TEST(GangPlacement, never_mixes_device_kinds_within_a_gang) {
  State state;
  add_node(state, "a", 2, "a100");
  add_node(state, "h", 2, "h100");
  add_job(state, 3, 1);
  EXPECT_TRUE(schedule(state, {}).starts.empty());
  state.jobs.begin()->second.spec.workers = 2;
  EXPECT_EQ(schedule(state, {}).starts.size(), 1u);
}

// Complaint 13: two GPUs at random though linked pairs are free.
TEST(DeviceChoice, takes_a_linked_pair_and_leaves_the_other_pair_whole) {
  State state;
  NodeState& node = add_node(state, "a", 4);
  add_link(node, 0, 2, 300'000);
  add_link(node, 1, 3, 300'000);
  add_job(state, 1, 2);
  const Plan plan = schedule(state, {});
  ASSERT_EQ(plan.starts.size(), 1u);
  const Devices chosen = plan.starts[0].placements[0].devices;
  EXPECT_TRUE(chosen == (Devices{0, 2}) || chosen == (Devices{1, 3}));
}

TEST(DeviceChoice, gives_a_single_worker_the_device_without_a_partner) {
  State state;
  NodeState& node = add_node(state, "a", 3);
  add_link(node, 0, 1, 300'000);
  add_job(state, 1, 1);
  EXPECT_EQ(schedule(state, {}).starts.at(0).placements[0].devices, (Devices{2}));
}

TEST(DeviceChoice, prefers_the_node_whose_free_devices_are_linked) {
  State state;
  occupy(add_node(state, "plain", 4), {0, 1});
  NodeState& linked = add_node(state, "linked", 4);
  add_link(linked, 2, 3, 300'000);
  occupy(linked, {0, 1});
  const NodeId wanted = linked.id;
  add_job(state, 2, 1);
  EXPECT_EQ(schedule(state, {}).starts.at(0).placements[0].node, wanted);
}

TEST(Order, the_higher_priority_goes_first_then_the_earlier_job) {
  State state;
  add_node(state, "a", 1);
  add_job(state, 1, 1);
  add_job(state, 1, 1, 5);
  const JobId urgent{2};
  const Plan plan = schedule(state, {});
  ASSERT_EQ(plan.starts.size(), 1u);
  EXPECT_EQ(plan.starts[0].job, urgent);
}

TEST(Reservation, a_small_job_cannot_starve_a_blocked_gang_but_may_run_elsewhere) {
  State state;
  occupy(add_node(state, "a", 4), {0, 1});       // two free
  occupy(add_node(state, "b", 8), {0, 1, 2, 3, 4, 5, 6});
  add_job(state, 1, 4);                          // fits node a or b when empty: blocked now
  const JobId small = add_job(state, 1, 1).id;
  const Plan plan = schedule(state, {});
  ASSERT_EQ(plan.starts.size(), 1u);
  EXPECT_EQ(plan.starts[0].job, small);
  EXPECT_EQ(plan.starts[0].placements[0].node, NodeId{2}) << "node a is nearest to free and kept";
}

TEST(Reservation, says_so_when_a_job_would_fit_but_for_the_one_ahead) {
  State state;
  occupy(add_node(state, "a", 4), {0});
  add_job(state, 1, 4);
  const JobId small = add_job(state, 1, 1).id;
  const Plan plan = schedule(state, {});
  EXPECT_TRUE(plan.starts.empty());
  EXPECT_EQ(plan.verdicts.at(small).reason, Reason::kBehindOthers);
}

TEST(Duty, lost_cordoned_draining_and_silent_nodes_take_no_work) {
  State state;
  add_node(state, "lost", 1).lost = true;
  add_node(state, "cordoned", 1).cordoned = true;
  add_node(state, "draining", 1).draining = true;
  const NodeId silent = add_node(state, "silent", 1).id;
  const JobId job = add_job(state, 1, 1).id;
  PassInput input;
  input.avoid = {{silent, "node does not answer"}};
  const Plan plan = schedule(state, input);
  EXPECT_TRUE(plan.starts.empty());
  EXPECT_EQ(plan.verdicts.at(job).clauses.size(), 4u);
}

TEST(Duty, a_suspect_node_is_avoided_unless_there_is_no_other) {
  State state;
  const NodeId suspect = add_node(state, "suspect", 1).id;
  add_job(state, 1, 1).excluded = {suspect};
  EXPECT_EQ(schedule(state, {}).starts.at(0).placements[0].node, suspect);
  const NodeId other = add_node(state, "other", 4).id;
  EXPECT_EQ(schedule(state, {}).starts.at(0).placements[0].node, other);
}

TEST(BackOff, a_job_waits_for_its_time_and_the_pass_says_when_to_look_again) {
  State state;
  add_node(state, "a", 1);
  JobState& job = add_job(state, 1, 1);
  job.not_before = Time{5'000};
  PassInput input;
  input.now = Time{1'000};
  const Plan early = schedule(state, input);
  EXPECT_TRUE(early.starts.empty());
  EXPECT_EQ(early.look_again, job.not_before);
  EXPECT_EQ(early.verdicts.at(job.id).reason, Reason::kBackingOff);
  input.now = job.not_before;
  EXPECT_EQ(schedule(state, input).starts.size(), 1u);
}

TEST(Feasibility, an_impossible_ask_is_never_and_names_the_nearest_fit) {
  State state;
  add_node(state, "a", 4);
  add_node(state, "b", 4);
  JobSpec spec = add_job(state, 1, 8).spec;
  Verdict verdict = feasibility(state, spec);
  EXPECT_EQ(verdict.fit, Fit::kNever);
  EXPECT_NE(verdict.sentence.find("4 devices per worker would fit"), std::string::npos)
      << verdict.sentence;
  spec.devices = 1;
  spec.workers = 9;
  verdict = feasibility(state, spec);
  EXPECT_NE(verdict.sentence.find("at most 8 workers"), std::string::npos) << verdict.sentence;
  spec.workers = 8;
  EXPECT_EQ(feasibility(state, spec).fit, Fit::kFits);
  spec.one_node = true;
  verdict = feasibility(state, spec);
  EXPECT_EQ(verdict.fit, Fit::kNever);
  EXPECT_NE(verdict.sentence.find("without one_node"), std::string::npos) << verdict.sentence;
  spec.one_node = false;
  spec.workers = 1;
  spec.device_kind = "b200";
  verdict = feasibility(state, spec);
  EXPECT_NE(verdict.sentence.find("another kind"), std::string::npos) << verdict.sentence;
}

TEST(Feasibility, an_image_that_no_node_can_run_is_never_and_the_reason_is_told) {
  State state;
  NodeState& a = add_node(state, "a", 1);
  NodeState& b = add_node(state, "b", 1);
  a.spec.image_trouble = "runc is not installed there";
  b.spec.image_trouble = "its agent does not run as root";
  JobSpec spec = add_job(state, 1, 1).spec;
  spec.image = "/image";
  Verdict verdict = feasibility(state, spec);
  EXPECT_EQ(verdict.fit, Fit::kNever);
  EXPECT_NE(verdict.sentence.find("node a cannot run one: runc is not installed there"),
            std::string::npos)
      << verdict.sentence;
  b.spec.image_runtime = "runc 1.1.5";
  EXPECT_EQ(feasibility(state, spec).fit, Fit::kFits);
  spec.workers = 2;  // two would fit into the pool, but only one where images run
  verdict = feasibility(state, spec);
  EXPECT_EQ(verdict.fit, Fit::kNever);
  EXPECT_NE(verdict.sentence.find("without the image"), std::string::npos) << verdict.sentence;
}

TEST(GangPlacement, puts_workers_in_images_only_where_images_run) {
  State state;
  add_node(state, "a", 4);
  NodeState& b = add_node(state, "b", 1);
  b.spec.image_runtime = "runc 1.1.5";
  JobState& job = add_job(state, 1, 1);
  job.spec.image = "/image";
  const Plan plan = schedule(state, {});
  ASSERT_EQ(plan.starts.size(), 1u);
  EXPECT_EQ(plan.starts[0].placements[0].node, b.id);
}

TEST(Feasibility, says_how_much_less_cpu_or_memory_would_do) {
  State state;
  add_node(state, "a", 1);  // 4 cores, 32 GiB
  add_node(state, "b", 1);
  JobSpec spec = add_job(state, 2, 0).spec;
  spec.cpu_milli = 8000;
  EXPECT_NE(feasibility(state, spec).sentence.find("with 4 cpu per worker it would fit"),
            std::string::npos)
      << feasibility(state, spec).sentence;
  spec.cpu_milli = 1000;
  spec.memory = gibibytes(100);
  EXPECT_NE(feasibility(state, spec).sentence.find("with 32768MiB per worker it would fit"),
            std::string::npos)
      << feasibility(state, spec).sentence;
  spec.cpu_milli = 8000;
  EXPECT_NE(feasibility(state, spec).sentence.find("less cpu and less memory"), std::string::npos)
      << feasibility(state, spec).sentence;
}

TEST(Feasibility, a_busy_or_lost_node_does_not_make_an_ask_impossible) {
  State state;
  occupy(add_node(state, "a", 2), {0, 1});
  add_node(state, "b", 2).lost = true;
  EXPECT_EQ(feasibility(state, add_job(state, 4, 1).spec).fit, Fit::kFits);
}

TEST(Feasibility, an_empty_pool_makes_jobs_wait_rather_than_fail) {
  State state;
  const Verdict verdict = feasibility(state, add_job(state, 4, 1).spec);
  EXPECT_EQ(verdict.fit, Fit::kNotNow);
  EXPECT_EQ(verdict.reason, Reason::kNoNodes);
}

TEST(Explain, counts_nodes_per_clause_and_what_is_ahead) {
  State state;
  occupy(add_node(state, "a", 4), {0, 1});
  occupy(add_node(state, "b", 4), {0});
  add_node(state, "c", 2, "a100");
  const JobId ahead = add_job(state, 1, 4).id;
  JobState& job = add_job(state, 1, 4);
  job.spec.device_kind = "h100";
  const Verdict verdict = explain(state, job.id, {});
  ASSERT_EQ(verdict.clauses.size(), 2u);
  EXPECT_EQ(verdict.clauses[0].rejected, 2);
  EXPECT_EQ(verdict.clauses[0].nearest, "b has 3 free");
  EXPECT_EQ(verdict.clauses[1].nearest, "c has 0 devices");
  EXPECT_NE(verdict.sentence.find("first " + to_text(ahead)), std::string::npos)
      << verdict.sentence;
}

TEST(Explain, names_only_what_would_help_this_job) {
  State state;
  occupy(add_node(state, "a", 2), {0, 1});
  const JobId job = add_job(state, 1, 2).id;
  using enum Cure;
  EXPECT_EQ(explain(state, job, {}).cured_by,
            (std::vector<Cure>{kDevicesFreed, kNodeJoined, kSmallerAsk}));
  NodeState& big = add_node(state, "b", 4);
  big.lost = true;
  EXPECT_EQ(explain(state, job, {}).cured_by,
            (std::vector<Cure>{kDevicesFreed, kNodeReturned, kNodeJoined, kSmallerAsk}));
  const JobId large = add_job(state, 1, 4).id;
  const Verdict verdict = explain(state, large, {});
  EXPECT_EQ(verdict.cured_by, (std::vector<Cure>{kNodeReturned, kNodeJoined, kSmallerAsk}));
  EXPECT_NE(verdict.sentence.find("even if they were empty"), std::string::npos)
      << verdict.sentence;
}

/// Random pools and jobs: every plan obeys the law's own rules, checked here from scratch.
TEST(GangPlacement, random_plans_give_each_device_once_and_respect_every_limit) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Prng prng(seed);
    State state;
    const int64_t nodes = prng.between(1, 6);
    for (int64_t i = 0; i < nodes; ++i) {
      NodeState& node =
          add_node(state, "n" + std::to_string(i), static_cast<int32_t>(prng.below(9)),
                   prng.chance(1, 2) ? "h100" : "a100");
      for (auto&& taken : node.device_taken) taken = prng.chance(1, 3);
    }
    for (int i = 0; i < 8; ++i) {
      add_job(state, static_cast<int32_t>(prng.between(1, 6)), static_cast<int32_t>(prng.below(4)),
              static_cast<int32_t>(prng.below(3)));
    }
    std::map<NodeId, std::vector<bool>> taken;
    std::map<NodeId, int64_t> cpu;
    for (const auto& [id, node] : state.nodes) taken[id] = node.device_taken;
    const Plan plan = schedule(state, {});
    for (const JobPlan& start : plan.starts) {
      const JobSpec& spec = state.jobs.at(start.job).spec;
      ASSERT_EQ(start.placements.size(), static_cast<size_t>(spec.workers));
      for (const Placement& place : start.placements) {
        ASSERT_EQ(place.devices.size(), static_cast<size_t>(spec.devices));
        cpu[place.node] += spec.cpu_milli;
        for (const int32_t device : place.devices) {
          ASSERT_FALSE(taken[place.node][static_cast<size_t>(device)]) << "seed " << seed;
          taken[place.node][static_cast<size_t>(device)] = true;
        }
      }
    }
    for (const auto& [id, used] : cpu) ASSERT_LE(used, state.nodes.at(id).spec.cpu_milli);
    ASSERT_EQ(plan.starts.size() + plan.verdicts.size(), state.pending.size());
  }
}

}  // namespace
}  // namespace keiko::sched
