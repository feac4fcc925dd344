#include "base/prng.h"
#include "core/cluster/cluster_fixture.h"

namespace keiko::cluster {
namespace {

TEST(Hello, is_welcomed_once_the_node_is_durable) {
  TestPool pool;
  pool.join("a", 2);
  EXPECT_EQ(pool.persisted<NodeJoined>().size(), 1u);
  ASSERT_EQ(pool.sent<Welcome>("a").size(), 1u);
  EXPECT_EQ(pool.sent<Welcome>("a")[0].node, pool.agent("a").node);
  EXPECT_EQ(pool.agent("a").session.term, 1u);
  const size_t persist =
      pool.position([](const Effect& e) { return std::holds_alternative<Persist>(e); });
  const size_t send =
      pool.position([](const Effect& e) { return std::holds_alternative<Send>(e); });
  EXPECT_LT(persist, send);
}

TEST(Hello, of_a_known_node_opens_a_new_session_and_closes_the_old_stream) {
  TestPool pool;
  pool.join("a", 2);
  const Session first = pool.agent("a").session;
  const uint64_t old_stream = pool.agent("a").connection;
  pool.hello("a");
  EXPECT_TRUE(pool.persisted<NodeJoined>().empty()) << "nothing new to persist";
  EXPECT_GT(pool.agent("a").session, first);
  ASSERT_EQ(pool.all<CloseConnection>().size(), 1u);
  EXPECT_EQ(pool.all<CloseConnection>()[0].connection, old_stream);
}

TEST(Hello, with_a_bad_spec_is_refused_and_closed) {
  TestPool pool;
  pool.join("ok", 1);
  NodeSpec bad = node_spec("Not A Label", 1);
  pool.feed(HelloReceived{77, {bad, {}}});
  ASSERT_EQ(pool.all<Send>().size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Refused>(pool.all<Send>()[0].message.body));
  ASSERT_EQ(pool.all<CloseConnection>().size(), 1u);
  EXPECT_EQ(pool.all<CloseConnection>()[0].connection, 77u);
  EXPECT_TRUE(pool.all<Persist>().empty());
}

TEST(Hello, of_a_twin_is_refused_while_the_first_ones_lease_lives) {
  TestPool pool;
  pool.join("a", 1);
  NodeSpec twin = node_spec("a", 1);
  twin.instance = "another";
  pool.feed(HelloReceived{50, {twin, {}}});
  ASSERT_EQ(pool.all<CloseConnection>().size(), 1u);
  EXPECT_EQ(pool.all<CloseConnection>()[0].connection, 50u) << "the first stream stays";
  pool.report("a");
  EXPECT_EQ(pool.sent<ReportAck>("a").size(), 1u);
  pool.pass(seconds(11), {"a"});
  EXPECT_TRUE(pool.state().nodes.at(pool.agent("a").node).lost);
  pool.feed(HelloReceived{51, {twin, {}}});
  EXPECT_TRUE(pool.all<CloseConnection>().empty()) << "a lost name may be taken over";
  EXPECT_EQ(pool.state().nodes.at(pool.agent("a").node).spec.instance, "another");
}

TEST(Hello, that_comes_late_from_a_stream_that_was_replaced_says_nothing) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  const AgentHello empty{pool.agent("a").spec, {}};
  const uint64_t early = pool.agent("a").connection;
  pool.hello("a");
  pool.runs(job);
  pool.step(HelloReceived{early, empty});
  EXPECT_TRUE(pool.effects().empty());
  EXPECT_EQ(pool.job(job).status, JobStatus::kRunning) << "its worker did not vanish";
}

TEST(Hello, brings_the_news_of_the_time_without_a_stream) {
  TestPool pool;
  pool.join("a", 2);
  const JobId job = pool.submit(job_spec(2, 1));
  pool.feed(ConnectionClosed{pool.agent("a").connection});
  EXPECT_EQ(pool.notes("agent_disconnected"), 1u);
  for (auto& [key, worker] : pool.agent("a").workers) worker.status = WorkerStatus::kRunning;
  pool.hello("a");
  EXPECT_EQ(pool.persisted<WorkerStarted>().size(), 2u);
  EXPECT_EQ(pool.job(job).status, JobStatus::kRunning);
  WorkerReport& ended = pool.agent("a").workers.at(pool.key(job, 1));
  ended.status = WorkerStatus::kEnded;
  ended.end.cause = EndCause::kExited;
  pool.hello("a");
  EXPECT_EQ(pool.persisted<WorkerEnded>().size(), 1u);
  EXPECT_EQ(pool.sent<ForgetWorker>("a").size(), 1u);
}

// Complaint 32: what is gone after a restart stays "running" for ever.
TEST(Hello, of_a_machine_that_rebooted_ends_its_workers_as_vanished) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.runs(job);
  pool.agent("a").workers.clear();
  pool.agent("a").spec.boot_id = "another";
  pool.hello("a");
  ASSERT_EQ(pool.persisted<WorkerEnded>().size(), 1u);
  EXPECT_EQ(pool.persisted<WorkerEnded>()[0].end.cause, EndCause::kVanished);
  EXPECT_EQ(pool.job(job).attempt, 2);
}

TEST(Hello, with_other_hardware_counts_once_no_worker_is_placed_there) {
  TestPool pool;
  pool.join("a", 2);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.runs(job);
  pool.agent("a").spec = node_spec("a", 1);
  pool.hello("a");
  EXPECT_EQ(pool.notes("node_changed"), 1u);
  EXPECT_EQ(pool.state().nodes.at(pool.agent("a").node).spec.devices.size(), 2u);
  const JobId waits = pool.submit(job_spec(1, 1));
  EXPECT_EQ(pool.job(waits).status, JobStatus::kPending) << "no new work on hardware that is gone";
  EXPECT_EQ(pool.brain().explain(waits, pool.now()).clauses.at(0).name,
            "node's hardware changed; it counts once the workers there have ended");
  pool.ends("a", pool.key(job, 0), EndCause::kExited, 0);
  EXPECT_EQ(pool.state().nodes.at(pool.agent("a").node).spec.devices.size(), 1u);
  EXPECT_EQ(pool.job(waits).status, JobStatus::kStarting);
}

TEST(Reports, are_acknowledged_and_renew_the_lease) {
  TestPool pool;
  pool.join("a", 1);
  pool.report("a");
  ASSERT_EQ(pool.sent<ReportAck>("a").size(), 1u);
  EXPECT_EQ(pool.sent<ReportAck>("a")[0].report_sequence, 1u);
  EXPECT_TRUE(pool.all<Persist>().empty());
  pool.pass(seconds(60));
  EXPECT_EQ(pool.brain().status_of(pool.agent("a").node, pool.now()), NodeStatus::kReady);
  EXPECT_EQ(pool.brain().sight_of(pool.agent("a").node)->last_heard, pool.now());
}

TEST(Reports, that_are_repeated_or_overtaken_are_dropped) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  const AgentReport early = pool.next_report("a");
  pool.runs(job);
  const uint64_t stream = pool.agent("a").connection;
  pool.step(ReportReceived{stream, early});
  EXPECT_TRUE(pool.effects().empty()) << "overtaken";
  const AgentReport latest = pool.next_report("a");
  pool.step(ReportReceived{stream, latest});
  EXPECT_EQ(pool.sent<ReportAck>("a").size(), 1u);
  pool.step(ReportReceived{stream, latest});
  EXPECT_TRUE(pool.effects().empty()) << "repeated";
}

TEST(Reports, of_another_session_or_stream_are_dropped) {
  TestPool pool;
  pool.join("a", 1);
  const JobId job = pool.submit(job_spec(1, 1));
  pool.runs(job);
  const uint64_t old_stream = pool.agent("a").connection;
  const Session old_session = pool.agent("a").session;
  pool.hello("a");
  pool.feed(ReportReceived{old_stream, {old_session, 99, {}}});
  EXPECT_TRUE(pool.all<Send>().empty());
  pool.feed(ReportReceived{pool.agent("a").connection, {old_session, 99, {}}});
  EXPECT_TRUE(pool.all<Send>().empty());
  pool.feed(ReportReceived{4711, {pool.agent("a").session, 99, {}}});
  EXPECT_TRUE(pool.all<Send>().empty());
  EXPECT_EQ(pool.job(job).status, JobStatus::kRunning);
}

TEST(Reports, of_workers_that_nobody_wants_stop_the_living_and_forget_the_dead) {
  TestPool pool;
  pool.join("a", 1);
  const WorkerKey never{{44}, 1, 0};
  pool.says("a", never, WorkerStatus::kRunning);
  ASSERT_EQ(pool.sent<StopWorker>("a").size(), 1u);
  EXPECT_EQ(pool.sent<StopWorker>("a")[0].key, never);
  pool.report("a");
  EXPECT_TRUE(pool.sent<StopWorker>("a").empty()) << "not with every report";
  pool.says("a", never, WorkerStatus::kEnded);
  EXPECT_EQ(pool.sent<ForgetWorker>("a").size(), 1u);
  EXPECT_TRUE(pool.all<Persist>().empty());
}

TEST(Reports, of_an_older_attempt_stop_it) {
  TestPool pool;
  pool.join("a", 2);
  const JobId job = pool.submit(job_spec(1, 1));
  const WorkerKey first = pool.key(job, 0);
  pool.ends("a", first, EndCause::kSignalled, 9);
  ASSERT_EQ(pool.job(job).attempt, 2);
  pool.says("a", first, WorkerStatus::kRunning);
  ASSERT_EQ(pool.sent<StopWorker>("a").size(), 1u);
  EXPECT_EQ(pool.sent<StopWorker>("a")[0].key, first);
  EXPECT_EQ(pool.job(job).workers[0].status, WorkerStatus::kStarting);
}

TEST(Commands, carry_the_session_and_rise) {
  TestPool pool;
  pool.join("a", 2);
  std::vector<uint64_t> sequences;
  for (int i = 0; i < 3; ++i) {
    pool.submit(job_spec(1, 0));
    pool.report("a");
    for (const Send& send : pool.all<Send>()) {
      EXPECT_EQ(send.message.session, pool.agent("a").session);
      sequences.push_back(send.message.sequence);
    }
  }
  for (size_t i = 1; i < sequences.size(); ++i) EXPECT_GT(sequences[i], sequences[i - 1]);
}

TEST(Reports, of_any_kind_cannot_harm_the_state) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Prng prng(seed);
    TestPool pool;
    pool.join("a", 2);
    pool.join("b", 2);
    for (int i = 0; i < 4; ++i) pool.submit(job_spec(static_cast<int32_t>(prng.between(1, 3)), 1));
    for (int step = 0; step < 150; ++step) {
      const std::string name = prng.chance(1, 2) ? "a" : "b";
      AgentReport report{pool.agent(name).session, ++pool.agent(name).sequence, {}};
      for (uint64_t n = prng.below(6); n > 0; --n) {
        WorkerReport worker;
        worker.key = {{prng.below(6)}, static_cast<int32_t>(prng.between(-1, 4)),
                      static_cast<int32_t>(prng.between(-1, 3))};
        worker.status = static_cast<WorkerStatus>(prng.below(5));
        worker.master_port = static_cast<int32_t>(prng.between(-1, 1) * 4000);
        worker.checkpoint = {prng.between(-1, 30), prng.chance(1, 2) ? "ref" : ""};
        worker.end.cause = static_cast<EndCause>(prng.below(9));
        report.workers.push_back(worker);
      }
      pool.step(ReportReceived{pool.agent(name).connection, report});
      if (prng.chance(1, 5)) pool.pass(seconds(1));
    }
    pool.check_sound();
  }
}

}  // namespace
}  // namespace keiko::cluster
