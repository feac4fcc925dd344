#include "core/cluster/cluster_fixture.h"

namespace keiko::cluster {
namespace {

NodeStatus seen(TestPool& pool, const std::string& name) {
  return pool.brain().status_of(pool.agent(name).node, pool.now());
}

TEST(Lease, a_silent_node_is_slow_then_unreachable_then_lost) {
  TestPool pool;
  pool.join("a", 1);
  pool.pass(seconds(3), {"a"});
  EXPECT_EQ(seen(pool, "a"), NodeStatus::kSlow);
  EXPECT_EQ(pool.notes("node_seen"), 1u);
  pool.pass(seconds(2), {"a"});
  EXPECT_EQ(seen(pool, "a"), NodeStatus::kUnreachable);
  EXPECT_EQ(pool.notes("node_seen"), 1u);
  EXPECT_TRUE(pool.all<Persist>().empty()) << "both are seen, not durable";
  pool.pass(seconds(4), {"a"});
  EXPECT_FALSE(pool.state().nodes.at(pool.agent("a").node).lost);
  pool.pass(seconds(1), {"a"});
  EXPECT_EQ(seen(pool, "a"), NodeStatus::kLost);
  EXPECT_EQ(pool.persisted<NodeLost>().size(), 1u);
  EXPECT_EQ(pool.all<CloseConnection>().size(), 1u);
}

TEST(Lease, a_node_that_speaks_again_in_time_is_ready_at_once_and_keeps_its_workers) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.runs(job);
  pool.pass(seconds(9), {"a"});
  pool.report("a");
  EXPECT_EQ(seen(pool, "a"), NodeStatus::kReady);
  EXPECT_EQ(pool.notes("node_seen"), 1u);
  EXPECT_EQ(pool.job(job).status, JobStatus::kRunning);
  EXPECT_EQ(pool.job(job).attempt, 1);
}

TEST(Lease, work_is_not_given_to_silent_or_unconnected_nodes) {
  TestPool pool;
  pool.join("a", 1);
  pool.join("b", 1);
  pool.feed(ConnectionClosed{pool.agent("b").connection});
  pool.agent("b").connection = 0;
  pool.pass(seconds(4), {"a"});
  const JobId job = pool.submit(job_spec(1, 1));
  EXPECT_EQ(pool.job(job).status, JobStatus::kPending);
  pool.report("a");
  EXPECT_EQ(pool.job(job).status, JobStatus::kStarting) << "a node that returns wakes the line";
  EXPECT_EQ(pool.node_of(job, 0), "a");
}

// Complaint 28: two copies of one worker.
TEST(Lease, its_end_ends_the_workers_there_and_the_gang_restarts_elsewhere) {
  TestPool pool;
  for (const char* name : {"a", "b", "c"}) pool.join(name, 1);
  const JobId job = pool.submit(job_spec(2, 1));
  const std::string lead = pool.node_of(job, 0), gone = pool.node_of(job, 1);
  pool.agent(lead).workers.at(pool.key(job, 0)).master_port = 4000;
  pool.report(lead);
  pool.runs(job);
  pool.pass(seconds(9), {gone});
  EXPECT_EQ(pool.job(job).status, JobStatus::kRunning);
  EXPECT_TRUE(pool.sent<StopWorker>(lead).empty());
  pool.pass(seconds(1), {gone});
  EXPECT_TRUE(pool.state().nodes.at(pool.agent(gone).node).lost);
  EXPECT_EQ(pool.job(job).status, JobStatus::kRegrouping);
  EXPECT_EQ(pool.job(job).reason, Reason::kNodeLost);
  EXPECT_EQ(pool.sent<StopWorker>(lead).size(), 1u);
  pool.ends(lead, pool.key(job, 0), EndCause::kStopped);
  EXPECT_EQ(pool.job(job).attempt, 2);
  EXPECT_EQ(pool.job(job).infra_faults, 1);
  EXPECT_NE(pool.node_of(job, 0), gone);
  EXPECT_NE(pool.node_of(job, 1), gone);
}

TEST(Lease, a_node_that_returns_late_has_its_old_workers_stopped_and_takes_work) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  const WorkerKey old = pool.key(job, 0);
  pool.runs(job);
  pool.pass(seconds(12), {"a"});
  EXPECT_EQ(pool.job(job).status, JobStatus::kPending);
  EXPECT_EQ(pool.job(job).reason, Reason::kNodeLost);
  pool.hello("a");  // its agent could not kill it in time: it says that the worker lives
  EXPECT_EQ(pool.persisted<NodeJoined>().size(), 1u);
  EXPECT_EQ(seen(pool, "a"), NodeStatus::kReady);
  ASSERT_EQ(pool.sent<StopWorker>("a").size(), 1u);
  EXPECT_EQ(pool.sent<StopWorker>("a")[0].key, old);
  EXPECT_EQ(pool.job(job).attempt, 2) << "the suspect is taken again: there is no other node";
  pool.ends("a", old, EndCause::kStopped);
  EXPECT_EQ(pool.sent<ForgetWorker>("a").size(), 1u);
  EXPECT_EQ(pool.job(job).attempt, 2);
}

TEST(Lease, is_not_ended_by_the_servers_own_absence) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.runs(job);
  pool.pass(seconds(8), {"a"});
  pool.restart_server();
  EXPECT_EQ(seen(pool, "a"), NodeStatus::kReady);
  pool.pass(seconds(9), {"a"});
  pool.hello("a");
  EXPECT_EQ(pool.job(job).attempt, 1);
  EXPECT_EQ(pool.job(job).status, JobStatus::kRunning);
}

TEST(Lease, a_wake_is_asked_for_before_every_edge_even_after_an_early_wake) {
  TestPool pool;
  pool.join("a", 1);
  pool.step(Wake{});
  ASSERT_EQ(pool.all<WakeAt>().size(), 1u);
  EXPECT_EQ(pool.all<WakeAt>()[0].at, pool.now() + seconds(3));
  pool.step(Wake{});
  ASSERT_EQ(pool.all<WakeAt>().size(), 1u) << "a wake answers all that were asked for";
  EXPECT_EQ(pool.all<WakeAt>()[0].at, pool.now() + seconds(3));
}

TEST(Lease, an_event_that_wants_the_scheduler_asks_for_a_wake_now) {
  TestPool pool;
  pool.join("a", 1);
  pool.step(HelloReceived{99, {pool.agent("a").spec, {}}});
  ASSERT_EQ(pool.all<WakeAt>().size(), 1u);
  EXPECT_EQ(pool.all<WakeAt>()[0].at, pool.now());
}

TEST(LeaseOptionsChange, welcomes_every_agent_anew) {
  TestPool pool;
  pool.join("a", 1);
  const Session before = pool.agent("a").session;
  LeaseOptions lease;
  lease.lease = seconds(60);
  EXPECT_TRUE(pool.command(ChangeOptions{lease, "fifo"}).result.ok());
  ASSERT_EQ(pool.sent<Welcome>("a").size(), 1u);
  EXPECT_EQ(pool.sent<Welcome>("a")[0].lease.lease, seconds(60));
  EXPECT_GT(pool.agent("a").session, before);
  pool.pass(seconds(50), {"a"});
  EXPECT_FALSE(pool.state().nodes.at(pool.agent("a").node).lost);
}

TEST(LeaseOptionsChange, to_a_shorter_lease_waits_until_the_agent_counts_by_it) {
  TestPool pool;
  pool.join("a", 1);
  pool.join("b", 1);
  LeaseOptions lease;
  lease.lease = seconds(60);
  pool.command(ChangeOptions{lease, "fifo"});
  pool.pass(seconds(1));
  EXPECT_TRUE(pool.command(ChangeOptions{LeaseOptions{}, "fifo"}).result.ok());
  pool.report("b");
  pool.pass(seconds(40), {"a", "b"});
  EXPECT_FALSE(pool.state().nodes.at(pool.agent("a").node).lost) << "it may still count to 60";
  EXPECT_TRUE(pool.state().nodes.at(pool.agent("b").node).lost) << "it has answered";
  pool.pass(seconds(30), {"a"});
  EXPECT_TRUE(pool.state().nodes.at(pool.agent("a").node).lost);
}

TEST(LeaseOptionsChange, refuses_what_does_not_add_up_and_unknown_policies) {
  TestPool pool;
  LeaseOptions lease;
  lease.slow_after = seconds(30);
  EXPECT_EQ(pool.command(ChangeOptions{lease, "fifo"}).result.error().code,
            Code::kInvalidArgument);
  const Reply unknown = pool.command(ChangeOptions{LeaseOptions{}, "lottery"});
  EXPECT_NE(unknown.result.error().message.find("fifo"), std::string::npos);
}

TEST(Duty, a_cordoned_node_keeps_its_workers_and_takes_none) {
  TestPool pool;
  pool.join("a", 2);
  const JobId runs = pool.submit(job_spec(1, 1));
  pool.runs(runs);
  EXPECT_TRUE(
      pool.command(ActOnNode{pool.agent("a").node, NodeAction::kCordon, "fan"}).result.ok());
  EXPECT_EQ(seen(pool, "a"), NodeStatus::kCordoned);
  const auto why = [&] { return pool.state().nodes.at(pool.agent("a").node).duty_why; };
  pool.command(ActOnNode{pool.agent("a").node, NodeAction::kCordon, ""});
  EXPECT_EQ(why(), "fan") << "silence takes nothing back";
  pool.command(ActOnNode{pool.agent("a").node, NodeAction::kCordon, "fan and disk"});
  EXPECT_EQ(why(), "fan and disk");
  const JobId waits = pool.submit(job_spec(1, 1));
  pool.pass(seconds(2));
  EXPECT_EQ(pool.job(runs).status, JobStatus::kRunning);
  EXPECT_EQ(pool.job(waits).status, JobStatus::kPending);
  pool.command(ActOnNode{pool.agent("a").node, NodeAction::kUncordon, ""});
  EXPECT_EQ(pool.job(waits).status, JobStatus::kStarting);
}

TEST(Duty, a_draining_node_sends_its_gangs_back_to_the_line_at_no_charge) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.runs(job);
  pool.join("b", 1);
  pool.command(ActOnNode{pool.agent("a").node, NodeAction::kDrain, "new disk"});
  EXPECT_EQ(seen(pool, "a"), NodeStatus::kDraining);
  EXPECT_EQ(pool.job(job).status, JobStatus::kPreempting);
  EXPECT_EQ(pool.job(job).reason, Reason::kNodeDrained);
  ASSERT_EQ(pool.sent<StopWorker>("a").size(), 1u);
  EXPECT_EQ(pool.sent<StopWorker>("a")[0].grace, seconds(30)) << "the job's own grace";
  pool.ends("a", pool.key(job, 0), EndCause::kStopped);
  EXPECT_EQ(pool.node_of(job, 0), "b");
  EXPECT_EQ(pool.job(job).user_faults + pool.job(job).infra_faults, 0);
}

TEST(ServerRestart, takes_the_next_term_and_goes_on_with_what_runs) {
  TestPool pool;
  pool.join("a", 2);
  const JobId job = pool.submit(job_spec(2, 1));
  pool.runs(job);
  const JobId waits = pool.submit(job_spec(2, 1));
  pool.restart_server();
  EXPECT_EQ(pool.persisted<ServerStarted>().size(), 1u);
  EXPECT_EQ(pool.state().term, 2u);
  EXPECT_TRUE(pool.all<Send>().empty());
  pool.hello("a");
  EXPECT_EQ(pool.agent("a").session.term, 2u);
  EXPECT_EQ(pool.job(job).status, JobStatus::kRunning);
  EXPECT_EQ(pool.job(job).attempt, 1);
  pool.ends("a", pool.key(job, 0), EndCause::kExited, 0);
  pool.ends("a", pool.key(job, 1), EndCause::kExited, 0);
  EXPECT_EQ(pool.job(job).status, JobStatus::kCompleted);
  EXPECT_EQ(pool.job(waits).status, JobStatus::kStarting);
}

TEST(ServerRestart, between_a_placement_and_its_starts_starts_the_workers) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.agent("a").workers.clear();  // the message died with the server
  pool.restart_server();
  EXPECT_EQ(pool.job(job).status, JobStatus::kStarting);
  pool.hello("a");
  EXPECT_EQ(pool.sent<StartWorker>("a").size(), 1u);
  EXPECT_EQ(pool.job(job).attempt, 1);
}

TEST(ServerRestart, amid_a_stop_asks_again) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.runs(job);
  pool.act(job, JobAction::kCancel);
  pool.restart_server();
  pool.hello("a");
  EXPECT_EQ(pool.sent<StopWorker>("a").size(), 1u);
  pool.ends("a", pool.key(job, 0), EndCause::kStopped);
  EXPECT_EQ(pool.job(job).status, JobStatus::kCancelled);
}

/// Cuts the journal after the last record of one kind, as a server that died right then.
template <class Body>
State state_after_last(const std::vector<std::string>& journal) {
  State state, cut;
  for (const std::string& record : journal) {
    const StateEvent event = MUST(decode_event(record));
    MUST(apply(state, event));
    if (std::holds_alternative<Body>(event.body)) cut = state;
  }
  return cut;
}

TEST(ServerRestart, between_the_last_end_and_its_verdict_draws_the_verdict) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.runs(job);
  pool.ends("a", pool.key(job, 0), EndCause::kExited, 0);
  const State cut = state_after_last<WorkerEnded>(pool.journal());
  EXPECT_EQ(cut.jobs.at(job).status, JobStatus::kRunning);
  ClusterBrain next(cut, 2, pool.now());
  next.start(pool.now());
  EXPECT_EQ(next.state().jobs.at(job).status, JobStatus::kCompleted);
}

TEST(ServerRestart, between_a_drain_and_its_stops_stops_the_gangs) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.command(ActOnNode{pool.agent("a").node, NodeAction::kDrain, ""});
  const State cut = state_after_last<NodeDuty>(pool.journal());
  EXPECT_EQ(cut.jobs.at(job).intent, StopIntent::kNone);
  ClusterBrain next(cut, 2, pool.now());
  next.start(pool.now());
  EXPECT_EQ(next.state().jobs.at(job).intent, StopIntent::kRequeue);
}

TEST(ServerRestart, without_a_start_settles_with_the_first_wake) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.runs(job);
  pool.ends("a", pool.key(job, 0), EndCause::kExited, 0);
  ClusterBrain next(state_after_last<WorkerEnded>(pool.journal()), 1, pool.now());
  next.step({pool.now(), Wake{}});
  EXPECT_EQ(next.state().jobs.at(job).status, JobStatus::kCompleted);
}

}  // namespace
}  // namespace keiko::cluster
