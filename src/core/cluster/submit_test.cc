#include "core/cluster/brain_steps.h"
#include "core/cluster/cluster_fixture.h"

namespace keiko::cluster {
namespace {

TEST(Submit, replies_only_after_the_job_is_persisted) {
  TestPool pool;
  const Reply reply = pool.command(SubmitJob{job_spec(1, 0), ""});
  EXPECT_EQ(*reply.result, JobId{1});
  const size_t persist =
      pool.position([](const Effect& e) { return std::holds_alternative<Persist>(e); });
  const size_t answer =
      pool.position([](const Effect& e) { return std::holds_alternative<Reply>(e); });
  EXPECT_LT(persist, answer);
  EXPECT_EQ(pool.notes("job_submitted"), 1u);
}

TEST(Submit, is_idempotent_by_token) {
  TestPool pool;
  const JobId first = pool.submit(job_spec(1, 0), "token");
  EXPECT_EQ(pool.submit(job_spec(2, 0), "token"), first);
  EXPECT_TRUE(pool.persisted<JobSubmitted>().empty());
  EXPECT_NE(pool.submit(job_spec(1, 0), "other"), first);
  pool.restart_server();
  EXPECT_EQ(pool.submit(job_spec(1, 0), "token"), first);
}

TEST(Submit, names_a_job_after_its_program) {
  EXPECT_EQ(name_of_command({"/usr/bin/sleep", "5"}), "sleep");
  EXPECT_EQ(name_of_command({"python3", "-u", "./Train_GPT.py"}), "train-gpt-py");
  EXPECT_EQ(name_of_command({"***"}), "job");
  EXPECT_EQ(name_of_command({std::string(200, 'x')}).size(), 63u);
  TestPool pool;
  JobSpec spec = job_spec(1, 0);
  spec.name.clear();
  spec.command = {"./train.py"};
  EXPECT_EQ(pool.job(pool.submit(spec)).spec.name, "train-py");
}

TEST(Submit, refuses_a_bad_spec_by_field_and_persists_nothing) {
  TestPool pool;
  JobSpec spec = job_spec(1, 0);
  spec.priority = 5000;
  const Reply reply = pool.command(SubmitJob{spec, ""});
  EXPECT_EQ(reply.result.error().code, Code::kInvalidArgument);
  EXPECT_EQ(reply.result.error().where, "priority");
  EXPECT_TRUE(pool.all<Persist>().empty());
  EXPECT_EQ(pool.command(SubmitJob{job_spec(1, 0), std::string(300, 't')}).result.error().code,
            Code::kInvalidArgument);
}

TEST(Submit, refuses_what_can_never_run_and_names_the_nearest_fit) {
  TestPool pool;
  pool.join("a", 2);
  const Reply reply = pool.command(SubmitJob{job_spec(1, 4), ""});
  EXPECT_EQ(reply.result.error().code, Code::kFailedPrecondition);
  EXPECT_NE(reply.result.error().message.find("2 devices per worker would fit"), std::string::npos);
  EXPECT_TRUE(pool.all<Persist>().empty());
}

TEST(Submit, looks_again_when_a_node_came_with_other_hardware) {
  TestPool pool;
  pool.join("a", 2);
  pool.submit(job_spec(1, 2));
  pool.submit(job_spec(1, 2));
  EXPECT_FALSE(pool.command(SubmitJob{job_spec(2, 2), ""}).result.ok());
  pool.join("b", 2);
  EXPECT_TRUE(pool.command(SubmitJob{job_spec(2, 2), ""}).result.ok());
  pool.pass(seconds(12), {"a", "b"});
  pool.agent("b").spec = node_spec("b", 1);
  pool.hello("b");
  EXPECT_FALSE(pool.command(SubmitJob{job_spec(2, 2), ""}).result.ok());
}

TEST(Submit, accepts_into_an_empty_pool_and_waits_for_nodes) {
  TestPool pool;
  const JobId job = pool.submit(job_spec(1, 4));
  EXPECT_EQ(pool.job(job).status, JobStatus::kPending);
  ASSERT_NE(pool.brain().verdict_of(job), nullptr);
  EXPECT_EQ(pool.brain().verdict_of(job)->reason, Reason::kNoNodes);
  EXPECT_EQ(pool.brain().explain(job, pool.now()).reason, Reason::kNoNodes);
}

TEST(JobCommands, of_an_unknown_job_are_not_found) {
  TestPool pool;
  EXPECT_EQ(pool.act({7}, JobAction::kCancel).result.error().code, Code::kNotFound);
  EXPECT_EQ(pool.command(ActOnNode{{7}, NodeAction::kDrain, ""}).result.error().code,
            Code::kNotFound);
}

TEST(JobCommands, hold_keeps_a_job_out_of_the_line_until_released) {
  TestPool pool;
  const JobId job = pool.submit(job_spec(1, 0));
  EXPECT_TRUE(pool.act(job, JobAction::kHold).result.ok());
  EXPECT_TRUE(pool.act(job, JobAction::kHold).result.ok()) << "twice is as good as once";
  pool.join("a", 1);
  EXPECT_EQ(pool.job(job).status, JobStatus::kSuspended);
  EXPECT_EQ(pool.brain().explain(job, pool.now()).reason, Reason::kHeld);
  EXPECT_EQ(pool.act(job, JobAction::kRequeue).result.error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(pool.act(job, JobAction::kRelease).result.ok());
  EXPECT_EQ(pool.job(job).status, JobStatus::kStarting);
  EXPECT_EQ(pool.act(job, JobAction::kRelease).result.error().code, Code::kFailedPrecondition);
}

TEST(JobCommands, cancel_ends_a_waiting_job_at_once) {
  TestPool pool;
  const JobId job = pool.submit(job_spec(1, 0));
  EXPECT_TRUE(pool.act(job, JobAction::kCancel).result.ok());
  EXPECT_EQ(pool.job(job).status, JobStatus::kCancelled);
  const Reply again = pool.act(job, JobAction::kCancel);
  EXPECT_EQ(again.result.error().code, Code::kFailedPrecondition);
  EXPECT_NE(again.result.error().message.find("already CANCELLED"), std::string::npos);
}

TEST(JobCommands, cancel_stops_every_rank_with_the_jobs_grace_and_may_be_repeated) {
  TestPool pool;
  pool.join("a", 1);
  pool.join("b", 1);
  JobSpec spec = job_spec(2, 1);
  spec.grace = seconds(77);
  const JobId job = pool.submit(spec);
  pool.agent("a").workers.begin()->second.master_port = 4000;
  pool.report("a");
  pool.runs(job);
  EXPECT_TRUE(pool.act(job, JobAction::kCancel).result.ok());
  ASSERT_EQ(pool.sent<StopWorker>("a").size(), 1u);
  EXPECT_EQ(pool.sent<StopWorker>("b").size(), 1u);
  EXPECT_EQ(pool.sent<StopWorker>("a")[0].grace, seconds(77));
  EXPECT_EQ(pool.persisted<JobStopping>().size(), 1u);
  EXPECT_TRUE(pool.act(job, JobAction::kCancel).result.ok());
  EXPECT_TRUE(pool.all<Persist>().empty());
  pool.ends("a", pool.key(job, 0), EndCause::kStopped);
  EXPECT_EQ(pool.act(job, JobAction::kRequeue).result.error().code, Code::kFailedPrecondition);
  pool.ends("b", pool.key(job, 1), EndCause::kStopped);
  EXPECT_EQ(pool.job(job).status, JobStatus::kCancelled);
  EXPECT_EQ(pool.job(job).reason, Reason::kCancelledByUser);
}

TEST(JobCommands, cancel_overrides_a_restart_that_is_under_way) {
  TestPool pool;
  pool.join("a", 2);
  const JobId job = pool.submit(job_spec(2, 1));
  pool.runs(job);
  pool.ends("a", pool.key(job, 0), EndCause::kExited, 1);
  EXPECT_EQ(pool.job(job).intent, StopIntent::kRestart);
  EXPECT_TRUE(pool.act(job, JobAction::kCancel).result.ok());
  pool.ends("a", pool.key(job, 1), EndCause::kStopped);
  EXPECT_EQ(pool.job(job).status, JobStatus::kCancelled);
}

TEST(JobCommands, hold_of_a_placed_job_points_to_requeue_and_is_taken_after_it) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.runs(job);
  const Reply refused = pool.act(job, JobAction::kHold);
  EXPECT_EQ(refused.result.error().code, Code::kFailedPrecondition);
  EXPECT_NE(refused.result.error().message.find("requeue"), std::string::npos);
  EXPECT_TRUE(pool.act(job, JobAction::kRequeue).result.ok());
  EXPECT_TRUE(pool.act(job, JobAction::kHold).result.ok());
  pool.ends("a", pool.key(job, 0), EndCause::kStopped);
  EXPECT_EQ(pool.job(job).status, JobStatus::kSuspended);
  EXPECT_TRUE(pool.act(job, JobAction::kRelease).result.ok());
  EXPECT_EQ(pool.job(job).attempt, 2);
}

TEST(JobCommands, requeue_restarts_without_charging_a_budget) {
  TestPool pool;
  pool.join("a", 1);
  JobSpec spec = job_spec(1, 1);
  spec.restarts = 0;
  const JobId job = pool.submit(spec);
  EXPECT_TRUE(pool.act(job, JobAction::kRequeue).result.ok());
  EXPECT_EQ(pool.job(job).status, JobStatus::kPreempting);
  pool.ends("a", pool.key(job, 0), EndCause::kStopped);
  EXPECT_EQ(pool.job(job).attempt, 2);
  EXPECT_EQ(pool.job(job).status, JobStatus::kStarting);
  EXPECT_EQ(pool.job(job).user_faults, 0);
}

TEST(JobCommands, a_job_that_finished_while_it_was_asked_to_requeue_is_complete) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.runs(job);
  pool.act(job, JobAction::kRequeue);
  pool.ends("a", pool.key(job, 0), EndCause::kExited, 0);
  EXPECT_EQ(pool.job(job).status, JobStatus::kCompleted);
}

TEST(Explain, says_where_a_placed_job_runs_and_why_an_ended_one_ended) {
  TestPool pool;
  pool.join("a", 2);
  const JobId job = pool.submit(job_spec(2, 1));
  pool.runs(job);
  const Verdict runs = pool.brain().explain(job, pool.now());
  EXPECT_EQ(runs.fit, Fit::kFits);
  EXPECT_NE(runs.sentence.find("2 on a"), std::string::npos) << runs.sentence;
  const JobId waits = pool.submit(job_spec(1, 1));
  const Verdict line = pool.brain().explain(waits, pool.now());
  EXPECT_EQ(line.fit, Fit::kNotNow);
  EXPECT_FALSE(line.cured_by.empty());
  pool.ends("a", pool.key(job, 0), EndCause::kExited, 0);
  pool.ends("a", pool.key(job, 1), EndCause::kExited, 0);
  EXPECT_NE(pool.brain().explain(job, pool.now()).sentence.find("exited with 0"),
            std::string::npos);
}

TEST(Explain, tells_a_change_of_reason_once) {
  TestPool pool;
  pool.join("a", 1);
  pool.submit(job_spec(1, 1));
  pool.submit(job_spec(1, 1));
  EXPECT_EQ(pool.notes("job_waits"), 1u);
  pool.pass(seconds(5));
  EXPECT_EQ(pool.notes("job_waits"), 0u);
}

}  // namespace
}  // namespace keiko::cluster
