#include "core/cluster/cluster_fixture.h"

namespace keiko::cluster {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Two nodes of one device each, and a gang of two that spans them.
class GangTest : public testing::Test {
 protected:
  void SetUp() override {
    pool_.join("a", 1);
    pool_.join("b", 1);
  }
  void start(JobSpec spec = job_spec(2, 1)) {
    job_ = pool_.submit(spec);
    lead_ = pool_.node_of(job_, 0);
    other_ = pool_.node_of(job_, 1);
  }
  void rendezvous() {
    pool_.agent(lead_).workers.at(pool_.key(job_, 0)).master_port = 4321;
    pool_.report(lead_);
  }
  void run(JobSpec spec = job_spec(2, 1)) {
    start(std::move(spec));
    rendezvous();
    pool_.runs(job_);
  }
  void end(int32_t rank, EndCause cause, int32_t number = 0) {
    pool_.ends(pool_.node_of(job_, rank), pool_.key(job_, rank), cause, number);
  }
  const JobState& job() { return pool_.job(job_); }

  TestPool pool_;
  JobId job_;
  std::string lead_, other_;
};
using GangStart = GangTest;
using GangEnd = GangTest;
using Blames = GangTest;
using Budgets = GangTest;
using TimeLimit = GangTest;
using Checkpoints = GangTest;

TEST_F(GangStart, starts_rank_0s_node_first_and_the_others_once_the_port_is_durable) {
  start();
  EXPECT_EQ(pool_.sent<StartWorker>(lead_).size(), 1u);
  EXPECT_TRUE(pool_.sent<StartWorker>(other_).empty());
  EXPECT_EQ(pool_.sent<StartWorker>(lead_)[0].launch.master_port, 0);
  pool_.says(lead_, pool_.key(job_, 0), WorkerStatus::kRunning);
  EXPECT_TRUE(pool_.sent<StartWorker>(other_).empty());
  rendezvous();
  ASSERT_EQ(pool_.sent<StartWorker>(other_).size(), 1u);
  const WorkerLaunch launch = pool_.sent<StartWorker>(other_)[0].launch;
  EXPECT_EQ(launch.master_port, 4321);
  EXPECT_EQ(launch.master_address, "10.0.0.1");
  EXPECT_EQ(launch.world_size, 2);
  EXPECT_EQ(launch.group_rank, 1);
  EXPECT_EQ(launch.node_names, (std::vector<std::string>{lead_, other_}));
  EXPECT_EQ(launch.devices.size(), 1u);
  const size_t persist = pool_.position([](const Effect& e) {
    const auto* p = std::get_if<Persist>(&e);
    return p != nullptr && std::holds_alternative<RendezvousReady>(p->event.body);
  });
  const size_t send = pool_.position([](const Effect& e) {
    const auto* s = std::get_if<Send>(&e);
    return s != nullptr && std::holds_alternative<StartWorker>(s->message.body);
  });
  EXPECT_LT(persist, send) << "nothing is told before it is durable";
}

TEST_F(GangStart, starts_all_ranks_of_one_node_at_once) {
  pool_.join("wide", 3);
  const JobId job = pool_.submit(job_spec(3, 1));
  const auto starts = pool_.sent<StartWorker>("wide");
  ASSERT_EQ(starts.size(), 3u);
  for (int32_t rank = 0; rank < 3; ++rank) {
    const WorkerLaunch& launch = starts[static_cast<size_t>(rank)].launch;
    EXPECT_EQ(launch.local_rank, rank);
    EXPECT_EQ(launch.local_world_size, 3);
    EXPECT_EQ(launch.group_world_size, 1);
  }
  EXPECT_EQ(pool_.job(job).status, JobStatus::kStarting);
}

TEST_F(GangStart, repeats_a_start_that_the_agent_never_got_but_not_with_every_report) {
  start();
  pool_.agent(lead_).workers.clear();  // the message was lost
  pool_.report(lead_);
  EXPECT_TRUE(pool_.sent<StartWorker>(lead_).empty()) << "it may be under way";
  pool_.pass(seconds(1));
  EXPECT_EQ(pool_.sent<StartWorker>(lead_).size(), 1u);
  EXPECT_EQ(job().attempt, 1);
}

TEST_F(GangStart, is_running_when_every_rank_runs) {
  start();
  rendezvous();
  pool_.says(lead_, pool_.key(job_, 0), WorkerStatus::kRunning);
  EXPECT_EQ(job().status, JobStatus::kStarting);
  pool_.says(other_, pool_.key(job_, 1), WorkerStatus::kRunning);
  EXPECT_EQ(job().status, JobStatus::kRunning);
  EXPECT_EQ(pool_.persisted<WorkerStarted>().size(), 1u);
  EXPECT_EQ(pool_.notes("worker_started"), 1u);
  pool_.says(other_, pool_.key(job_, 1), WorkerStatus::kRunning);
  EXPECT_TRUE(pool_.all<Persist>().empty()) << "a report without news changes nothing";
}

TEST_F(GangEnd, completes_when_every_rank_exits_with_0) {
  run();
  end(0, EndCause::kExited, 0);
  EXPECT_EQ(job().status, JobStatus::kRunning) << "the others finish on their own";
  EXPECT_TRUE(pool_.sent<StopWorker>(other_).empty());
  end(1, EndCause::kExited, 0);
  EXPECT_EQ(job().status, JobStatus::kCompleted);
  EXPECT_EQ(job().exit_code, 0);
}

TEST_F(GangEnd, forgets_an_ended_worker_only_after_its_end_is_durable) {
  run();
  end(0, EndCause::kExited, 0);
  const size_t persist = pool_.position([](const Effect& e) {
    const auto* p = std::get_if<Persist>(&e);
    return p != nullptr && std::holds_alternative<WorkerEnded>(p->event.body);
  });
  const size_t forget = pool_.position([](const Effect& e) {
    const auto* s = std::get_if<Send>(&e);
    return s != nullptr && std::holds_alternative<ForgetWorker>(s->message.body);
  });
  EXPECT_LT(persist, forget);
  EXPECT_LT(forget, pool_.effects().size());
}

TEST_F(GangEnd, stops_the_survivors_of_a_wounded_gang_and_restarts_it) {
  run();
  end(1, EndCause::kExited, 3);
  EXPECT_EQ(job().status, JobStatus::kRegrouping);
  EXPECT_EQ(job().intent, StopIntent::kRestart);
  ASSERT_EQ(pool_.sent<StopWorker>(lead_).size(), 1u);
  EXPECT_EQ(pool_.sent<StopWorker>(lead_)[0].grace, seconds(5)) << "no long grace for the wounded";
  end(0, EndCause::kStopped);
  EXPECT_EQ(job().status, JobStatus::kPending);
  EXPECT_EQ(job().user_faults, 1);
  pool_.pass(seconds(1));
  EXPECT_EQ(job().attempt, 2);
  EXPECT_EQ(job().status, JobStatus::kStarting);
}

TEST_F(GangEnd, repeats_a_stop_that_was_lost_once_a_heartbeat) {
  run();
  end(1, EndCause::kExited, 3);
  pool_.report(lead_);
  EXPECT_TRUE(pool_.sent<StopWorker>(lead_).empty());
  pool_.pass(seconds(1));
  EXPECT_EQ(pool_.sent<StopWorker>(lead_).size(), 1u);
  pool_.says(lead_, pool_.key(job_, 0), WorkerStatus::kStopping);
  pool_.pass(seconds(2));
  EXPECT_TRUE(pool_.sent<StopWorker>(lead_).empty()) << "the agent says that it is at it";
}

TEST_F(GangEnd, stops_a_rank_that_never_came_up_by_asking_its_agent) {
  start();
  rendezvous();
  pool_.agent(other_).workers.clear();  // the start was lost
  end(0, EndCause::kExited, 3);
  EXPECT_EQ(pool_.sent<StopWorker>(other_).size(), 1u);
  pool_.report(other_);
  EXPECT_EQ(job().status, JobStatus::kRegrouping) << "silence about it proves nothing yet";
  end(1, EndCause::kVanished);
  EXPECT_EQ(job().status, JobStatus::kPending);
  EXPECT_EQ(job().user_faults, 1) << "the rank that exited is to blame";
  EXPECT_EQ(job().infra_faults, 0);
}

TEST_F(Blames, a_worker_that_vanished_is_a_fault_of_the_infrastructure) {
  run();
  pool_.agent(other_).workers.clear();  // its machine rebooted
  pool_.report(other_);
  ASSERT_EQ(pool_.persisted<WorkerEnded>().size(), 1u);
  EXPECT_EQ(pool_.persisted<WorkerEnded>()[0].end.cause, EndCause::kVanished);
  end(0, EndCause::kStopped);
  EXPECT_EQ(job().infra_faults, 1);
  EXPECT_EQ(job().user_faults, 0);
  EXPECT_EQ(job().attempt, 2) << "the first fault of the infrastructure restarts at once";
}

TEST_F(Blames, a_kill_from_outside_goes_before_the_exit_codes_that_it_caused) {
  run();
  end(0, EndCause::kExited, 1);  // its peer was gone, and it was faster to say so
  end(1, EndCause::kSignalled, 9);
  EXPECT_EQ(job().infra_faults, 1);
  EXPECT_EQ(job().user_faults, 0);
  EXPECT_TRUE(has(job().timeline.at(job().timeline.size() - 2).text, "killed from outside"));
}

TEST_F(Blames, its_own_signal_and_too_much_memory_are_the_users) {
  run();
  end(0, EndCause::kSignalled, 11);
  end(1, EndCause::kStopped);
  EXPECT_EQ(job().user_faults, 1);
  pool_.pass(seconds(1));
  rendezvous();
  end(0, EndCause::kOutOfMemory);
  EXPECT_EQ(job().reason, Reason::kOutOfMemory);
  end(1, EndCause::kStopped);
  EXPECT_EQ(job().user_faults, 2);
}

TEST_F(Blames, suspects_are_avoided_where_there_is_a_choice) {
  pool_.join("c", 1);
  run();
  const std::string bad = pool_.node_of(job_, 1);
  end(1, EndCause::kSignalled, 9);
  end(0, EndCause::kStopped);
  EXPECT_EQ(job().attempt, 2);
  EXPECT_EQ(job().excluded, (std::set<NodeId>{pool_.agent(bad).node}));
  EXPECT_NE(pool_.node_of(job_, 0), bad);
  EXPECT_NE(pool_.node_of(job_, 1), bad);
}

TEST_F(Blames, suspects_are_taken_again_where_there_is_none) {
  run();
  end(1, EndCause::kSignalled, 9);
  end(0, EndCause::kStopped);
  EXPECT_EQ(job().attempt, 2);
  EXPECT_EQ(job().status, JobStatus::kStarting);
}

TEST_F(Budgets, back_off_doubles_and_the_last_words_are_told_at_the_end) {
  JobSpec spec = job_spec(1, 1);
  spec.restarts = 3;
  job_ = pool_.submit(spec);
  for (int32_t fault = 1; fault <= 3; ++fault) {
    end(0, EndCause::kExited, 7);
    ASSERT_EQ(job().status, JobStatus::kPending);
    EXPECT_EQ(job().not_before - pool_.now(), seconds(1 << (fault - 1)));
    EXPECT_EQ(pool_.brain().explain(job_, pool_.now()).reason, Reason::kBackingOff);
    pool_.pass(seconds(1 << (fault - 1)));
    ASSERT_EQ(job().attempt, fault + 1);
  }
  const std::string node = pool_.node_of(job_, 0);
  pool_.agent(node).workers.at(pool_.key(job_, 0)).end.last_words = "ValueError: no such corpus";
  end(0, EndCause::kExited, 7);
  EXPECT_EQ(job().status, JobStatus::kFailed);
  EXPECT_EQ(job().reason, Reason::kRestartsExhausted);
  EXPECT_EQ(job().exit_code, 7);
  for (const std::string part : {"rank 0", node.c_str(), "exited with 7", "no such corpus"}) {
    EXPECT_TRUE(has(job().message, part)) << job().message;
  }
}

TEST_F(Budgets, left_out_follow_the_kind) {
  JobSpec batch = job_spec(1, 1);
  batch.restarts = kByKind;
  job_ = pool_.submit(batch);
  end(0, EndCause::kExited, 2);
  EXPECT_EQ(job().status, JobStatus::kFailed) << "a batch command is wrong the second time too";
  EXPECT_EQ(job().exit_code, 2);
  JobSpec train = batch;
  train.kind = JobKind::kTrain;
  job_ = pool_.submit(train);
  end(0, EndCause::kExited, 2);
  EXPECT_EQ(job().status, JobStatus::kPending) << "goes on from its checkpoint";
}

TEST_F(Budgets, a_signal_becomes_128_and_its_number) {
  JobSpec spec = job_spec(1, 1);
  spec.restarts = 0;
  job_ = pool_.submit(spec);
  end(0, EndCause::kSignalled, 11);
  EXPECT_EQ(job().status, JobStatus::kFailed);
  EXPECT_EQ(job().exit_code, 139);
  EXPECT_TRUE(has(job().message, "signal 11")) << job().message;
}

TEST_F(Budgets, a_program_that_cannot_start_is_the_users_fault) {
  JobSpec spec = job_spec(1, 1);
  spec.restarts = 0;
  job_ = pool_.submit(spec);
  end(0, EndCause::kStartFailed);
  EXPECT_EQ(job().status, JobStatus::kFailed);
  EXPECT_EQ(job().reason, Reason::kStartFailed);
  EXPECT_EQ(job().exit_code, 127);
}

TEST_F(Budgets, a_node_that_cannot_start_a_program_is_the_infrastructures_fault) {
  JobSpec spec = job_spec(1, 1);
  spec.restarts = 0;
  job_ = pool_.submit(spec);
  const NodeId first = job().workers[0].place.node;
  end(0, EndCause::kNodeFailed);
  EXPECT_EQ(job().attempt, 2);
  EXPECT_EQ(job().infra_faults, 1);
  EXPECT_NE(job().workers[0].place.node, first) << "another node may have room";
}

TEST_F(Budgets, a_node_that_is_stopped_on_purpose_is_nobodys_fault) {
  JobSpec spec = job_spec(2, 1);
  spec.restarts = 0;
  spec.infra_restarts = 0;
  job_ = pool_.submit(spec);
  const int32_t attempt = job().attempt;
  end(0, EndCause::kNodeLeft);
  const std::string left = pool_.node_of(job_, 0);
  end(1, EndCause::kStopped);
  EXPECT_EQ(job().status, JobStatus::kPending) << "the other node alone is too small";
  pool_.hello(left);
  pool_.pass(seconds(1));
  EXPECT_EQ(job().attempt, attempt + 1) << to_text(job().status) << ": " << job().message;
  EXPECT_EQ(job().infra_faults + job().user_faults, 0);
  EXPECT_TRUE(job().excluded.empty());
}

TEST_F(Budgets, a_node_that_leaves_takes_no_new_work_meanwhile) {
  job_ = pool_.submit(job_spec(1, 1));
  const NodeId first = job().workers[0].place.node;
  end(0, EndCause::kNodeLeft);
  ASSERT_EQ(job().attempt, 2);
  EXPECT_NE(job().workers[0].place.node, first);
}

TEST_F(Budgets, a_device_that_failed_a_check_in_time_is_nobodys_fault) {
  JobSpec spec = job_spec(1, 1);
  spec.restarts = 0;
  spec.infra_restarts = 0;
  job_ = pool_.submit(spec);
  end(0, EndCause::kNotWell);
  EXPECT_EQ(job().attempt, 2) << to_text(job().status) << ": " << job().message;
  EXPECT_EQ(job().infra_faults + job().user_faults, 0);
}

TEST_F(Budgets, infrastructure_has_its_own) {
  JobSpec spec = job_spec(1, 1);
  spec.restarts = 0;
  spec.infra_restarts = 2;
  job_ = pool_.submit(spec);
  end(0, EndCause::kSignalled, 9);
  EXPECT_EQ(job().attempt, 2) << "no back-off for the first";
  end(0, EndCause::kSignalled, 9);
  EXPECT_EQ(job().not_before - pool_.now(), seconds(1));
  pool_.pass(seconds(1));
  EXPECT_EQ(job().attempt, 3);
  end(0, EndCause::kSignalled, 9);
  EXPECT_EQ(job().status, JobStatus::kFailed);
  EXPECT_EQ(job().exit_code, 137);
}

TEST_F(Budgets, a_new_checkpoint_pays_the_faults_off) {
  JobSpec spec = job_spec(1, 1);
  spec.restarts = 1;
  job_ = pool_.submit(spec);
  for (int32_t round = 1; round <= 4; ++round) {
    const std::string node = pool_.node_of(job_, 0);
    pool_.agent(node).workers.at(pool_.key(job_, 0)).checkpoint = {round, "ref"};
    end(0, EndCause::kExited, 1);
    ASSERT_EQ(job().status, JobStatus::kPending) << "round " << round;
    EXPECT_EQ(job().user_faults, 1);
    pool_.pass(seconds(2));
  }
}

TEST_F(Budgets, long_last_words_are_cut_to_their_end) {
  JobSpec spec = job_spec(1, 1);
  spec.restarts = 0;
  job_ = pool_.submit(spec);
  const std::string node = pool_.node_of(job_, 0);
  pool_.agent(node).workers.at(pool_.key(job_, 0)).end.last_words =
      std::string(1 << 20, 'x') + "the end";
  end(0, EndCause::kExited, 1);
  EXPECT_LT(job().message.size(), 4096u);
  EXPECT_TRUE(has(job().message, "the end"));
}

TEST_F(TimeLimit, stops_and_fails_a_job_that_runs_too_long) {
  JobSpec spec = job_spec(1, 1);
  spec.time_limit = seconds(30);
  job_ = pool_.submit(spec);
  pool_.runs(job_);
  pool_.pass(seconds(29));
  EXPECT_EQ(job().status, JobStatus::kRunning);
  pool_.pass(seconds(1));
  EXPECT_EQ(job().intent, StopIntent::kFail);
  EXPECT_EQ(job().reason, Reason::kTimeLimit);
  end(0, EndCause::kStopped);
  EXPECT_EQ(job().status, JobStatus::kFailed);
  EXPECT_EQ(job().reason, Reason::kTimeLimit);
}

TEST_F(TimeLimit, of_centuries_is_no_limit) {
  JobSpec spec = job_spec(1, 1);
  spec.time_limit = Duration{INT64_MAX};
  job_ = pool_.submit(spec);
  pool_.runs(job_);
  pool_.pass(seconds(5));
  EXPECT_EQ(job().status, JobStatus::kRunning);
}

TEST_F(Checkpoints, commit_rises_only_and_the_next_attempt_resumes_from_it) {
  run();
  pool_.agent(lead_).workers.at(pool_.key(job_, 0)).checkpoint = {20, "step-20"};
  pool_.report(lead_);
  EXPECT_EQ(pool_.persisted<CheckpointCommitted>().size(), 1u);
  pool_.agent(other_).workers.at(pool_.key(job_, 1)).checkpoint = {10, "step-10"};
  pool_.report(other_);
  pool_.report(lead_);
  EXPECT_TRUE(pool_.all<Persist>().empty());
  EXPECT_EQ(job().checkpoint.ref, "step-20");
  end(0, EndCause::kSignalled, 9);
  end(1, EndCause::kStopped);
  ASSERT_EQ(job().attempt, 2);
  const auto starts = pool_.sent<StartWorker>(pool_.node_of(job_, 0));
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_EQ(starts[0].launch.resume_from, "step-20");
}

TEST_F(Checkpoints, progress_is_seen_and_never_durable) {
  run();
  Progress progress;
  progress.step = 12;
  progress.loss = 2.5;
  pool_.agent(lead_).workers.at(pool_.key(job_, 0)).progress = progress;
  pool_.report(lead_);
  EXPECT_TRUE(pool_.all<Persist>().empty());
  ASSERT_TRUE(pool_.brain().progress_of(pool_.key(job_, 0)).has_value());
  EXPECT_EQ(pool_.brain().progress_of(pool_.key(job_, 0))->step, 12);
}

}  // namespace
}  // namespace keiko::cluster
