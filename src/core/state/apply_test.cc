#include <gtest/gtest.h>

#include "core/state/derived.h"
#include "core/state/state_fixture.h"

namespace keiko {
namespace {

/// The refusal's sentence; the state must be what it was.
#define EXPECT_REFUSED(tables, call, words)                                      \
  do {                                                                           \
    const std::string before = encode_state((tables).state);                     \
    const Done refused = (call);                                                 \
    ASSERT_FALSE(refused.ok());                                                  \
    EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);                  \
    EXPECT_NE(refused.error().message.find(words), std::string::npos)            \
        << refused.error().message;                                              \
    EXPECT_EQ(encode_state((tables).state), before);                             \
    EXPECT_TRUE(check_state((tables).state).ok());                               \
  } while (false)

class ApplyTest : public testing::Test {
 protected:
  void SetUp() override {
    a_ = tables_.add_node("a", 2);
    b_ = tables_.add_node("b", 2);
  }
  void TearDown() override {
    const Done sound = check_state(tables_.state);
    EXPECT_TRUE(sound.ok()) << sound.error().text();
  }
  Tables tables_;
  NodeId a_, b_;
};
using JobPlacedLaw = ApplyTest;
using JobLineLaw = ApplyTest;
using WorkerLaw = ApplyTest;
using JobStoppingLaw = ApplyTest;
using AttemptEndedLaw = ApplyTest;
using CheckpointLaw = ApplyTest;
using NodeLaw = ApplyTest;
using TermLaw = ApplyTest;

TEST_F(JobPlacedLaw, takes_devices_cpu_and_memory_until_each_worker_has_ended) {
  JobSpec spec = job_spec(2, 1);
  spec.memory = gibibytes(4);
  const JobId job = tables_.add_job(spec);
  ASSERT_TRUE(tables_.place(job, {{0, a_, {1}}, {1, b_, {0}}}).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kStarting);
  EXPECT_EQ(tables_.job(job).attempt, 1);
  EXPECT_EQ(tables_.job(job).master_address, "10.0.0.1");
  EXPECT_EQ(tables_.node(a_).device_taken, (std::vector<bool>{false, true}));
  EXPECT_EQ(tables_.node(a_).cpu_taken_milli, 1000);
  EXPECT_EQ(tables_.node(a_).memory_taken, gibibytes(4));
  EXPECT_EQ(tables_.node(a_).worker_count, 1);
  EXPECT_TRUE(tables_.state.active.contains(job));
  EXPECT_FALSE(tables_.state.pending.contains(job));

  ASSERT_TRUE(tables_.end(job, 0).ok());
  EXPECT_EQ(tables_.node(a_).device_taken, (std::vector<bool>{false, false}));
  EXPECT_EQ(tables_.node(a_).worker_count, 0);
  EXPECT_EQ(tables_.node(b_).worker_count, 1);
}

TEST_F(JobPlacedLaw, refuses_a_gang_that_is_not_whole_or_out_of_order) {
  const JobId job = tables_.add_job(job_spec(2, 1));
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, a_, {0}}}), "whole or not at all");
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, a_, {0}}, {0, a_, {1}}}), "not in order");
  EXPECT_REFUSED(tables_, tables_.place(job, {{1, a_, {0}}, {0, a_, {1}}}), "not in order");
}

TEST_F(JobPlacedLaw, refuses_devices_that_are_missing_taken_or_given_twice) {
  const JobId first = tables_.add_job(job_spec(1, 1));
  ASSERT_TRUE(tables_.place(first, {{0, a_, {0}}}).ok());
  const JobId job = tables_.add_job(job_spec(2, 1));
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, a_, {2}}, {1, b_, {0}}}), "does not exist");
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, a_, {-1}}, {1, b_, {0}}}), "does not exist");
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, a_, {0}}, {1, b_, {0}}}), "is taken");
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, b_, {0}}, {1, b_, {0}}}), "is taken");
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, b_, {0, 1}}, {1, a_, {1}}}),
                 "is given 2 devices");
}

TEST_F(JobPlacedLaw, refuses_devices_of_another_kind_or_too_small) {
  JobSpec spec = job_spec(1, 1);
  spec.device_kind = "h100";
  const JobId kind = tables_.add_job(spec);
  EXPECT_REFUSED(tables_, tables_.place(kind, {{0, a_, {0}}}), "is cpu, not h100");
  spec = job_spec(1, 1);
  spec.device_memory = gibibytes(80);
  const JobId small = tables_.add_job(spec);
  EXPECT_REFUSED(tables_, tables_.place(small, {{0, a_, {0}}}), "too small");
}

TEST_F(JobPlacedLaw, refuses_nodes_that_are_unknown_lost_cordoned_or_draining) {
  const JobId job = tables_.add_job(job_spec(1, 1));
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, NodeId{77}, {0}}}), "no node n77");
  ASSERT_TRUE(tables_.apply(NodeDuty{a_, true, false, ""}).ok());
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, a_, {0}}}), "takes no work");
  ASSERT_TRUE(tables_.apply(NodeDuty{a_, false, true, ""}).ok());
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, a_, {0}}}), "takes no work");
  ASSERT_TRUE(tables_.apply(NodeLost{b_}).ok());
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, b_, {0}}}), "takes no work");
}

TEST_F(JobPlacedLaw, refuses_more_cpu_or_memory_than_is_left) {
  JobSpec spec = job_spec(2, 0);
  spec.cpu_milli = 5000;
  const JobId cpu = tables_.add_job(spec);
  EXPECT_REFUSED(tables_, tables_.place(cpu, {{0, a_, {}}, {1, a_, {}}}), "too little cpu");
  spec.cpu_milli = 0;
  spec.memory = gibibytes(20);
  const JobId memory = tables_.add_job(spec);
  EXPECT_REFUSED(tables_, tables_.place(memory, {{0, a_, {}}, {1, a_, {}}}), "too little memory");
  EXPECT_TRUE(tables_.place(memory, {{0, a_, {}}, {1, b_, {}}}).ok());
}

TEST_F(JobPlacedLaw, sees_through_a_sum_of_memory_that_wraps_around) {
  JobSpec spec = job_spec(1 << 14, 0);
  spec.cpu_milli = 0;
  spec.memory = Bytes{int64_t{1} << 50};  // times 2^14 workers is 2^64
  const JobId job = tables_.add_job(spec);
  std::vector<Placement> everything;
  for (int32_t rank = 0; rank < spec.workers; ++rank) everything.push_back({rank, a_, {}});
  EXPECT_REFUSED(tables_, tables_.place(job, everything), "too little memory");
}

TEST_F(JobPlacedLaw, holds_the_plan_to_one_node_and_to_labels) {
  JobSpec spec = job_spec(2, 1);
  spec.one_node = true;
  const JobId together = tables_.add_job(spec);
  EXPECT_REFUSED(tables_, tables_.place(together, {{0, a_, {0}}, {1, b_, {0}}}), "on one node");
  EXPECT_TRUE(tables_.place(together, {{0, a_, {0}}, {1, a_, {1}}}).ok());
  spec = job_spec(1, 0);
  spec.node_labels["zone"] = "west";
  const JobId labelled = tables_.add_job(spec);
  EXPECT_REFUSED(tables_, tables_.place(labelled, {{0, b_, {}}}), "label zone");
}

TEST_F(JobPlacedLaw, refuses_jobs_that_do_not_wait_for_this_attempt) {
  const JobId job = tables_.add_job(job_spec(1, 0));
  EXPECT_REFUSED(tables_, tables_.apply(JobPlaced{job, 2, {{0, a_, {}}}, ""}), "attempt 2");
  EXPECT_REFUSED(tables_, tables_.apply(JobPlaced{JobId{9}, 1, {{0, a_, {}}}, ""}), "no job j9");
  ASSERT_TRUE(tables_.place(job, {{0, a_, {}}}).ok());
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, b_, {}}}), "does not wait");
}

TEST_F(JobLineLaw, submits_in_order_and_once_per_token) {
  const JobId job = tables_.add_job(job_spec(1, 0), "token");
  EXPECT_EQ(tables_.state.job_by_token.at("token"), job);
  EXPECT_REFUSED(tables_, tables_.apply(JobSubmitted{{5}, job_spec(1, 0), ""}), "not the next job");
  EXPECT_REFUSED(tables_, tables_.apply(JobSubmitted{{2}, job_spec(1, 0), "token"}), "used before");
  EXPECT_REFUSED(tables_, tables_.apply(JobSubmitted{{2}, job_spec(0, 0), ""}),
                 "number of workers");
  JobSpec spec = job_spec(1, 0);
  spec.memory = Bytes{-1};
  EXPECT_REFUSED(tables_, tables_.apply(JobSubmitted{{2}, spec, ""}), "impossible memory");
}

TEST_F(JobLineLaw, holds_releases_and_cancels_what_waits) {
  const JobId job = tables_.add_job(job_spec(1, 0));
  EXPECT_REFUSED(tables_, tables_.apply(JobReleased{job, ""}), "not held");
  ASSERT_TRUE(tables_.apply(JobHeld{job, ""}).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kSuspended);
  EXPECT_EQ(tables_.job(job).reason, Reason::kHeld);
  EXPECT_TRUE(tables_.state.pending.empty());
  EXPECT_REFUSED(tables_, tables_.place(job, {{0, a_, {}}}), "does not wait");
  ASSERT_TRUE(tables_.apply(JobReleased{job, ""}).ok());
  EXPECT_TRUE(tables_.state.pending.contains(job));
  ASSERT_TRUE(tables_.apply(JobHeld{job, ""}).ok());
  ASSERT_TRUE(tables_.apply(JobCancelled{job, "enough"}).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kCancelled);
  EXPECT_EQ(tables_.job(job).exit_code, 130) << "as of one that was cancelled while it ran";
  EXPECT_EQ(tables_.job(job).ended_at, tables_.now);
  EXPECT_REFUSED(tables_, tables_.apply(JobCancelled{job, ""}), "is CANCELLED");
  EXPECT_REFUSED(tables_, tables_.apply(JobHeld{job, ""}), "is CANCELLED");
}

TEST_F(JobLineLaw, tells_why_a_job_is_held_until_it_is_released) {
  const JobId job = tables_.add_job(job_spec(1, 0));
  ASSERT_TRUE(tables_.apply(JobHeld{job, "wrong data"}).ok());
  EXPECT_EQ(tables_.job(job).message,
            "held: wrong data; `keiko release " + to_text(job) + "` lets it run");
  EXPECT_EQ(tables_.job(job).timeline.back().text, "held: wrong data");
  ASSERT_TRUE(tables_.apply(JobReleased{job, "data mended"}).ok());
  EXPECT_EQ(tables_.job(job).timeline.back().text, "released: data mended");
  ASSERT_TRUE(tables_.apply(JobHeld{job, ""}).ok());
  EXPECT_EQ(tables_.job(job).message, "held; `keiko release " + to_text(job) + "` lets it run");
}

TEST_F(JobLineLaw, keeps_the_first_and_the_last_entries_of_a_long_timeline) {
  const JobId job = tables_.add_job(job_spec(1, 0));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(tables_.apply(JobHeld{job, ""}).ok());
    ASSERT_TRUE(tables_.apply(JobReleased{job, ""}).ok());
  }
  const auto& timeline = tables_.job(job).timeline;
  EXPECT_EQ(timeline.size(), kMaxTimeline);
  EXPECT_EQ(timeline.front().what, "submitted");
  EXPECT_EQ(timeline.back().what, "released");
  EXPECT_EQ(timeline.back().at, tables_.now);
}

TEST_F(WorkerLaw, runs_once_every_rank_runs) {
  const JobId job = tables_.add_job(job_spec(2, 1));
  ASSERT_TRUE(tables_.place(job, {{0, a_, {0}}, {1, b_, {0}}}).ok());
  ASSERT_TRUE(tables_.apply(WorkerStarted{{job, 1, 0}}).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kStarting);
  EXPECT_REFUSED(tables_, tables_.apply(WorkerStarted{{job, 1, 0}}), "runs already");
  EXPECT_REFUSED(tables_, tables_.apply(WorkerStarted{{job, 1, 2}}), "no rank 2");
  EXPECT_REFUSED(tables_, tables_.apply(WorkerStarted{{job, 1, -1}}), "no rank -1");
  EXPECT_REFUSED(tables_, tables_.apply(WorkerStarted{{job, 2, 1}}), "not placed in attempt 2");
  ASSERT_TRUE(tables_.apply(WorkerStarted{{job, 1, 1}}).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kRunning);
  EXPECT_EQ(tables_.job(job).running_since, tables_.now);
  EXPECT_EQ(tables_.job(job).message, "2 workers run");
}

TEST_F(WorkerLaw, counts_a_rank_that_ended_well_as_having_run_and_no_other) {
  const JobId job = tables_.add_job(job_spec(2, 0));
  ASSERT_TRUE(tables_.place(job, {{0, a_, {}}, {1, b_, {}}}).ok());
  ASSERT_TRUE(tables_.end(job, 0).ok());
  ASSERT_TRUE(tables_.apply(WorkerStarted{{job, 1, 1}}).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kRunning);

  const JobId absent = tables_.add_job(job_spec(1, 0));
  ASSERT_TRUE(tables_.place(absent, {{0, a_, {}}}).ok());
  ASSERT_TRUE(tables_.end(absent, 0, EndCause::kStartFailed).ok());
  EXPECT_EQ(tables_.job(absent).status, JobStatus::kStarting);
}

TEST_F(WorkerLaw, remembers_who_ended_first_and_ends_nobody_twice) {
  const JobId job = tables_.add_job(job_spec(2, 0));
  ASSERT_TRUE(tables_.place(job, {{0, a_, {}}, {1, b_, {}}}).ok());
  ASSERT_TRUE(tables_.end(job, 1, EndCause::kExited, 3).ok());
  ASSERT_TRUE(tables_.end(job, 0, EndCause::kStopped).ok());
  EXPECT_EQ(tables_.job(job).workers[1].end_order, 1);
  EXPECT_EQ(tables_.job(job).workers[0].end_order, 2);
  EXPECT_EQ(tables_.job(job).workers[1].end.exit_code, 3);
  EXPECT_REFUSED(tables_, tables_.end(job, 1), "ended already");
  EXPECT_REFUSED(tables_, tables_.apply(WorkerStarted{{job, 1, 1}}), "ended already");
}

TEST_F(WorkerLaw, takes_one_rendezvous_port_per_attempt) {
  const JobId job = tables_.add_job(job_spec(1, 0));
  EXPECT_REFUSED(tables_, tables_.apply(RendezvousReady{job, 1, 4000}), "not placed");
  ASSERT_TRUE(tables_.place(job, {{0, a_, {}}}).ok());
  EXPECT_REFUSED(tables_, tables_.apply(RendezvousReady{job, 1, 0}), "no port");
  EXPECT_REFUSED(tables_, tables_.apply(RendezvousReady{job, 1, 65536}), "no port");
  ASSERT_TRUE(tables_.apply(RendezvousReady{job, 1, 4000}).ok());
  EXPECT_REFUSED(tables_, tables_.apply(RendezvousReady{job, 1, 4001}), "known already");
}

TEST_F(JobStoppingLaw, only_grows_more_final) {
  const JobId job = tables_.add_job(job_spec(1, 0));
  const auto stop = [&](StopIntent intent) {
    return tables_.apply(JobStopping{job, 1, intent, Reason::kWorkerFailed, "why"});
  };
  EXPECT_REFUSED(tables_, stop(StopIntent::kCancel), "not placed");
  ASSERT_TRUE(tables_.place(job, {{0, a_, {}}}).ok());
  EXPECT_REFUSED(tables_, stop(StopIntent::kNone), "stopping already");
  ASSERT_TRUE(stop(StopIntent::kRestart).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kRegrouping);
  ASSERT_TRUE(stop(StopIntent::kRequeue).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kPreempting);
  EXPECT_REFUSED(tables_, stop(StopIntent::kRestart), "stopping already, to requeue");
  ASSERT_TRUE(stop(StopIntent::kCancel).ok());
  EXPECT_REFUSED(tables_, stop(StopIntent::kFail), "stopping already, to cancel");
  EXPECT_REFUSED(tables_, stop(static_cast<StopIntent>(99)), "stopping already");
}

TEST_F(AttemptEndedLaw, waits_for_the_last_worker) {
  const JobId job = tables_.add_job(job_spec(2, 0));
  ASSERT_TRUE(tables_.place(job, {{0, a_, {}}, {1, b_, {}}}).ok());
  ASSERT_TRUE(tables_.end(job, 0).ok());
  EXPECT_REFUSED(tables_, tables_.conclude(job, AttemptOutcome::kCompleted),
                 "rank 1 has not ended");
  ASSERT_TRUE(tables_.end(job, 1).ok());
  EXPECT_REFUSED(tables_, tables_.conclude(job, static_cast<AttemptOutcome>(7)), "unknown outcome");
  ASSERT_TRUE(tables_.conclude(job, AttemptOutcome::kCompleted).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kCompleted);
  EXPECT_EQ(tables_.job(job).workers.size(), 2u) << "where it ran stays on record";
  EXPECT_TRUE(tables_.state.active.empty());
  EXPECT_REFUSED(tables_, tables_.conclude(job, AttemptOutcome::kRetry), "not placed");
}

TEST_F(AttemptEndedLaw, sends_a_retry_back_to_the_line_with_its_back_off_and_suspects) {
  const JobId job = tables_.add_job(job_spec(1, 0));
  ASSERT_TRUE(tables_.place(job, {{0, a_, {}}}).ok());
  ASSERT_TRUE(tables_.end(job, 0, EndCause::kLeaseEnded).ok());
  AttemptEnded ended;
  ended.job = job;
  ended.attempt = 1;
  ended.outcome = AttemptOutcome::kRetry;
  ended.infra_fault = true;
  ended.not_before = tables_.now + seconds(30);
  ended.excluded = {a_};
  ASSERT_TRUE(tables_.apply(ended).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kPending);
  EXPECT_TRUE(tables_.job(job).workers.empty());
  EXPECT_EQ(tables_.job(job).infra_faults, 1);
  EXPECT_EQ(tables_.job(job).user_faults, 0);
  EXPECT_EQ(tables_.job(job).excluded, (std::set<NodeId>{a_}));
  EXPECT_EQ(tables_.job(job).not_before, ended.not_before);
  EXPECT_TRUE(tables_.state.pending.contains(job));
}

TEST_F(AttemptEndedLaw, leaves_a_job_that_was_held_while_it_stopped_out_of_the_line) {
  const JobId job = tables_.add_job(job_spec(1, 0));
  ASSERT_TRUE(tables_.place(job, {{0, a_, {}}}).ok());
  ASSERT_TRUE(tables_.apply(JobHeld{job, ""}).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kStarting);
  ASSERT_TRUE(tables_.end(job, 0, EndCause::kStopped).ok());
  ASSERT_TRUE(tables_.conclude(job, AttemptOutcome::kRequeued).ok());
  EXPECT_EQ(tables_.job(job).status, JobStatus::kSuspended);
  EXPECT_EQ(tables_.job(job).reason, Reason::kHeld) << "not what ended the attempt";
  EXPECT_EQ(tables_.job(job).message, held_text(tables_.job(job)));
  EXPECT_TRUE(tables_.state.pending.empty());
}

TEST_F(CheckpointLaw, only_moves_forward_and_pays_the_faults_off) {
  const JobId job = tables_.add_job(job_spec(1, 0));
  EXPECT_REFUSED(tables_, tables_.apply(CheckpointCommitted{job, 1, {5, "x"}}), "not placed");
  for (int attempt = 1; attempt <= 2; ++attempt) {
    ASSERT_TRUE(tables_.place(job, {{0, a_, {}}}).ok());
    ASSERT_TRUE(tables_.end(job, 0, EndCause::kExited, 1).ok());
    AttemptEnded ended;
    ended.job = job;
    ended.attempt = attempt;
    ended.outcome = AttemptOutcome::kRetry;
    ended.user_fault = true;
    ASSERT_TRUE(tables_.apply(ended).ok());
  }
  EXPECT_EQ(tables_.job(job).user_faults, 2);
  ASSERT_TRUE(tables_.place(job, {{0, a_, {}}}).ok());
  ASSERT_TRUE(tables_.apply(CheckpointCommitted{job, 3, {5, "at-5"}}).ok());
  EXPECT_EQ(tables_.job(job).user_faults, 0);
  EXPECT_EQ(tables_.job(job).checkpoint.ref, "at-5");
  EXPECT_REFUSED(tables_, tables_.apply(CheckpointCommitted{job, 3, {5, "again"}}), "not above");
  EXPECT_REFUSED(tables_, tables_.apply(CheckpointCommitted{job, 2, {9, "old"}}), "attempt 2");
}

TEST_F(NodeLaw, joins_in_order_and_once_per_name) {
  EXPECT_REFUSED(tables_, tables_.apply(NodeJoined{{9}, node_spec("c", 0)}), "not the next node");
  EXPECT_REFUSED(tables_, tables_.apply(NodeJoined{{3}, node_spec("a", 0)}), "a is n1");
  NodeSpec gap = node_spec("c", 2);
  gap.devices[1].index = 5;
  EXPECT_REFUSED(tables_, tables_.apply(NodeJoined{{3}, gap}), "count from 0");
  NodeSpec less = node_spec("c", 2);
  less.memory = Bytes{-1};
  EXPECT_REFUSED(tables_, tables_.apply(NodeJoined{{3}, less}), "impossible memory");
}

TEST_F(NodeLaw, refuses_other_hardware_under_placed_workers_and_takes_it_when_they_are_gone) {
  const JobId job = tables_.add_job(job_spec(1, 2));
  ASSERT_TRUE(tables_.place(job, {{0, a_, {0, 1}}}).ok());
  EXPECT_REFUSED(tables_, tables_.apply(NodeJoined{a_, node_spec("a", 1)}),
                 "changed while workers");
  NodeSpec renewed = node_spec("a", 2);
  renewed.address = "10.0.0.9";
  EXPECT_TRUE(tables_.apply(NodeJoined{a_, renewed}).ok()) << "an address is not hardware";
  EXPECT_EQ(tables_.node(a_).device_taken, (std::vector<bool>{true, true}));
  ASSERT_TRUE(tables_.end(job, 0).ok());
  ASSERT_TRUE(tables_.apply(NodeJoined{a_, node_spec("a", 1)}).ok());
  EXPECT_EQ(tables_.node(a_).device_taken.size(), 1u);
}

TEST_F(NodeLaw, is_lost_only_when_it_holds_nothing_and_found_again_by_joining) {
  const JobId job = tables_.add_job(job_spec(1, 0));
  ASSERT_TRUE(tables_.place(job, {{0, a_, {}}}).ok());
  EXPECT_REFUSED(tables_, tables_.apply(NodeLost{a_}), "still has workers");
  ASSERT_TRUE(tables_.end(job, 0, EndCause::kLeaseEnded).ok());
  ASSERT_TRUE(tables_.apply(NodeLost{a_}).ok());
  EXPECT_TRUE(tables_.node(a_).lost);
  EXPECT_REFUSED(tables_, tables_.apply(NodeLost{a_}), "lost already");
  EXPECT_REFUSED(tables_, tables_.apply(NodeLost{{8}}), "no node n8");
  ASSERT_TRUE(tables_.apply(NodeDuty{a_, true, false, "broken fan"}).ok());
  ASSERT_TRUE(tables_.apply(NodeJoined{a_, node_spec("a", 2)}).ok());
  EXPECT_FALSE(tables_.node(a_).lost);
  EXPECT_TRUE(tables_.node(a_).cordoned) << "duty outlives a loss";
  EXPECT_EQ(tables_.node(a_).duty_why, "broken fan");
  ASSERT_TRUE(tables_.apply(NodeDuty{a_, false, false, "new fan"}).ok());
  EXPECT_EQ(tables_.node(a_).duty_why, "") << "nothing is left to explain";
}

TEST_F(NodeLaw, is_forgotten_only_when_lost_and_is_new_when_it_joins_after_all) {
  const JobId job = tables_.add_job(job_spec(1, 1));
  ASSERT_TRUE(tables_.place(job, {{0, a_, {0}}}).ok());
  ASSERT_TRUE(tables_.end(job, 0, EndCause::kExited).ok());
  ASSERT_TRUE(tables_.conclude(job, AttemptOutcome::kCompleted).ok());
  EXPECT_REFUSED(tables_, tables_.apply(NodeForgotten{a_, ""}), "a is not lost");
  ASSERT_TRUE(tables_.apply(NodeDuty{a_, true, true, ""}).ok());
  ASSERT_TRUE(tables_.apply(NodeLost{a_}).ok());
  ASSERT_TRUE(tables_.apply(NodeForgotten{a_, "sold"}).ok());
  EXPECT_TRUE(tables_.node(a_).spec.devices.empty());
  EXPECT_EQ(tables_.job(job).workers[0].place.node, a_) << "history still names it";
  EXPECT_REFUSED(tables_, tables_.apply(NodeForgotten{a_, ""}), "forgotten already");
  EXPECT_REFUSED(tables_, tables_.apply(NodeDuty{a_, false, false, ""}), "is forgotten");
  ASSERT_TRUE(tables_.apply(NodeJoined{a_, node_spec("a", 3)}).ok());
  EXPECT_FALSE(tables_.node(a_).forgotten);
  EXPECT_FALSE(tables_.node(a_).cordoned) << "its duty was forgotten too";
  EXPECT_EQ(tables_.node(a_).device_taken.size(), 3u);
}

TEST_F(TermLaw, only_rises) {
  ASSERT_TRUE(tables_.apply(ServerStarted{3}).ok());
  EXPECT_REFUSED(tables_, tables_.apply(ServerStarted{3}), "not above 3");
  EXPECT_REFUSED(tables_, tables_.apply(ServerStarted{0}), "not above 3");
}

TEST_F(TermLaw, changes_options_and_refuses_durations_that_would_stop_the_clock) {
  LeaseOptions lease;
  lease.lease = seconds(20);
  ASSERT_TRUE(tables_.apply(OptionsChanged{lease, "fifo"}).ok());
  EXPECT_EQ(tables_.state.lease.lease, seconds(20));
  lease.heartbeat = {};
  EXPECT_REFUSED(tables_, tables_.apply(OptionsChanged{lease, "fifo"}), "not positive");
}

TEST_F(TermLaw, takes_an_event_from_before_the_last_one_at_the_last_ones_time) {
  const Time last = tables_.state.now;
  ASSERT_TRUE(apply(tables_.state, {last - seconds(500), ServerStarted{9}}).ok());
  EXPECT_EQ(tables_.state.now, last);
}

}  // namespace
}  // namespace keiko
