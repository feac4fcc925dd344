#include "core/node/node_brain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/node/node_fixture.h"

namespace keiko::node {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kRunning = WorkerStatus::kRunning;

WorkerKey key(uint64_t job, int32_t rank = 0) { return NodeFixture::key(job, rank); }

NodeFixture with_running_worker() {
  NodeFixture node;
  node.connect();
  node.start(key(7));
  node.changed(NodeFixture::report_of(key(7), kRunning));
  node.ack();
  return node;
}

TEST(NodeBrain, says_hello_with_all_workers_when_the_stream_opens) {
  Adopted adopted;
  adopted.workers = {NodeFixture::report_of(key(7), kRunning)};
  adopted.lease_end = Time{seconds(1009).ns};
  NodeFixture node(adopted);
  node.feed(Connected{});
  ASSERT_THAT(node.got<SendHello>(), SizeIs(1));
  const AgentHello hello = node.got<SendHello>()[0].hello;
  EXPECT_EQ(hello.node.name, "a");
  ASSERT_THAT(hello.workers, SizeIs(1));
  EXPECT_EQ(hello.workers[0].key, key(7));
}

TEST(NodeBrain, reports_at_every_heartbeat) {
  NodeFixture node;
  node.connect();
  size_t reports = 0;
  for (int second = 0; second < 5; ++second) {
    node.run_until(node.now() + seconds(1));
    reports += node.got<SendReport>().size();
    node.ack();
  }
  EXPECT_EQ(reports, 5u);
}

TEST(NodeBrain, reports_a_change_at_once) {
  NodeFixture node = with_running_worker();
  node.changed(NodeFixture::ended(key(7), EndCause::kExited, 3));
  ASSERT_THAT(node.got<SendReport>(), SizeIs(1));
  EXPECT_EQ(node.reported().end.cause, EndCause::kExited);
  EXPECT_EQ(node.reported().end.exit_code, 3);
}

TEST(NodeBrain, sends_progress_with_the_next_heartbeat_and_once) {
  NodeFixture node = with_running_worker();
  Progress progress;
  progress.step = 42;
  node.feed(WorkerSaid{key(7), progress, std::nullopt});
  EXPECT_THAT(node.got<SendReport>(), IsEmpty());
  node.run_until(node.now() + seconds(1));
  ASSERT_TRUE(node.reported().progress.has_value());
  EXPECT_EQ(node.reported().progress->step, 42);
  node.run_until(node.now() + seconds(1));
  EXPECT_FALSE(node.reported().progress.has_value());
}

TEST(NodeBrain, reports_a_checkpoint_at_once_and_keeps_it) {
  NodeFixture node = with_running_worker();
  node.feed(WorkerSaid{key(7), std::nullopt, CheckpointMark{100, "/c/100"}});
  ASSERT_THAT(node.got<SendReport>(), SizeIs(1));
  node.run_until(node.now() + seconds(1));
  EXPECT_EQ(node.reported().checkpoint.ref, "/c/100");
}

TEST(NodeBrain, counts_the_lease_from_when_the_report_was_sent) {
  NodeFixture node;
  node.connect();
  node.run_until(node.now() + seconds(1));
  const Time sent = node.now();
  node.pass(milliseconds(700));
  node.ack();
  EXPECT_EQ(node.brain().lease_end(), sent + seconds(10));
}

TEST(NodeBrain, takes_no_renewal_for_a_report_that_it_did_not_send) {
  NodeFixture node;
  node.connect();
  const Time before = node.brain().lease_end();
  node.pass(seconds(1));
  node.say(ReportAck{999});
  EXPECT_EQ(node.brain().lease_end(), before);
}

TEST(NodeBrain, starts_a_worker_once) {
  NodeFixture node;
  node.connect();
  node.start(key(7));
  ASSERT_THAT(node.got<Spawn>(), SizeIs(1));
  EXPECT_TRUE(node.got<Spawn>()[0].reserve_port);
  node.start(key(7));
  EXPECT_THAT(node.got<Spawn>(), IsEmpty());
}

TEST(NodeBrain, drops_commands_of_another_session) {
  NodeFixture node;
  node.connect(2);
  StartWorker order;
  order.launch.key = key(7);
  node.feed(FromServer{{{1, 1}, 99, order}});
  EXPECT_THAT(node.got<Spawn>(), IsEmpty());
  node.feed(FromServer{{{1, 3}, 99, order}});
  EXPECT_THAT(node.got<Spawn>(), IsEmpty());
}

TEST(NodeBrain, drops_a_command_that_comes_late_or_twice) {
  NodeFixture node;
  node.connect();
  const uint64_t late = node.last_command() + 1;
  node.say(ReportAck{1});
  node.say(ReportAck{2});
  StartWorker order;
  order.launch.key = key(7);
  node.feed(FromServer{{node.session(), late, order}});
  EXPECT_THAT(node.got<Spawn>(), IsEmpty());
}

TEST(NodeBrain, starts_nothing_before_it_is_welcome) {
  NodeFixture node;
  node.feed(Connected{});
  node.start(key(7));
  EXPECT_THAT(node.got<Spawn>(), IsEmpty());
}

TEST(NodeBrain, starts_nothing_while_its_lease_runs_out) {
  NodeFixture node;
  node.connect();
  node.pass(seconds(7));
  node.start(key(7));
  EXPECT_THAT(node.got<Spawn>(), IsEmpty());
}

TEST(NodeBrain, stops_with_notice_then_sigterm_then_sigkill_at_the_end_of_grace) {
  NodeFixture node = with_running_worker();
  node.say(StopWorker{key(7), seconds(3), "cancelled by ann"});
  ASSERT_THAT(node.got<NoticeWorker>(), SizeIs(1));
  EXPECT_EQ(node.got<NoticeWorker>()[0].deadline, seconds(3));
  EXPECT_EQ(node.got<NoticeWorker>()[0].why, "cancelled by ann");
  EXPECT_THAT(node.signals(), ElementsAre(SIGTERM));
  EXPECT_EQ(node.reported().status, WorkerStatus::kStopping);
  node.run_until(node.now() + milliseconds(2900));
  EXPECT_THAT(node.signals(), IsEmpty());
  node.run_until(node.now() + milliseconds(200));
  EXPECT_THAT(node.signals(), ElementsAre(SIGKILL));
}

TEST(NodeBrain, kills_again_what_survives_a_kill) {
  NodeFixture node = with_running_worker();
  node.say(StopWorker{key(7), Duration{}, "now"});
  node.run_until(node.now() + milliseconds(2500));
  EXPECT_GE(node.signals().size(), 2u);
  EXPECT_THAT(node.signals(), Contains(SIGKILL));
}

TEST(NodeBrain, says_stopped_for_a_worker_that_was_asked_to_stop) {
  for (const auto cause : {EndCause::kSignalled, EndCause::kExited}) {
    NodeFixture node = with_running_worker();
    node.say(StopWorker{key(7), seconds(3), "cancelled"});
    node.changed(NodeFixture::ended(key(7), cause, 15));
    EXPECT_EQ(node.reported().end.cause, EndCause::kStopped);
  }
}

TEST(NodeBrain, says_signalled_for_a_signal_of_somebody_else) {
  NodeFixture node = with_running_worker();
  node.changed(NodeFixture::ended(key(7), EndCause::kSignalled, 9));
  EXPECT_EQ(node.reported().end.cause, EndCause::kSignalled);
}

TEST(NodeBrain, says_vanished_for_an_unknown_worker_that_is_to_stop_until_it_may_forget) {
  NodeFixture node;
  node.connect();
  node.say(StopWorker{key(9), seconds(3), "cancelled"});
  EXPECT_EQ(node.reported().end.cause, EndCause::kVanished);
  node.run_until(node.now() + seconds(1));
  EXPECT_EQ(node.reported().key, key(9));
  node.say(ForgetWorker{key(9)});
  node.run_until(node.now() + seconds(1));
  EXPECT_THAT(node.last_report().workers, IsEmpty());
}

TEST(NodeBrain, forgets_an_ended_worker_and_frees_its_records) {
  NodeFixture node = with_running_worker();
  node.say(ForgetWorker{key(7)});
  EXPECT_THAT(node.got<ForgetProcess>(), IsEmpty()) << "it still runs";
  node.changed(NodeFixture::ended(key(7), EndCause::kExited, 0));
  node.say(ForgetWorker{key(7)});
  ASSERT_THAT(node.got<ForgetProcess>(), SizeIs(1));
  EXPECT_EQ(node.got<ForgetProcess>()[0].key, key(7));
}

// Complaint 29: ended work is started again.
TEST(NodeBrain, an_ended_worker_does_not_come_back) {
  NodeFixture node = with_running_worker();
  node.changed(NodeFixture::ended(key(7), EndCause::kExited, 0));
  node.changed(NodeFixture::report_of(key(7), kRunning));
  node.run_until(node.now() + seconds(1));
  EXPECT_EQ(node.reported().status, WorkerStatus::kEnded);
}

// Complaint 28: a cut-off agent runs on while the server starts a second copy.
TEST(NodeLease, asks_workers_to_stop_and_kills_them_before_the_lease_ends) {
  NodeFixture node = with_running_worker();
  const Time end = node.brain().lease_end();
  node.feed(Disconnected{});
  node.run_until(end - milliseconds(4100));
  EXPECT_THAT(node.signals(), IsEmpty());
  node.run_until(end - milliseconds(2100));
  EXPECT_THAT(node.signals(), ElementsAre(SIGTERM));
  EXPECT_THAT(node.got<NoticeWorker>(), SizeIs(1));
  node.run_until(end - milliseconds(1900));
  EXPECT_THAT(node.signals(), ElementsAre(SIGKILL));
}

TEST(NodeLease, an_end_that_the_lease_asked_for_says_so) {
  NodeFixture node = with_running_worker();
  node.feed(Disconnected{});
  node.run_until(node.brain().lease_end() - seconds(3));
  node.changed(NodeFixture::ended(key(7), EndCause::kExited, 0));
  node.connect(2);
  EXPECT_EQ(node.reported().end.cause, EndCause::kLeaseEnded);
}

TEST(NodeLease, a_late_renewal_does_not_save_a_worker_that_was_asked_to_stop) {
  NodeFixture node = with_running_worker();
  const Time end = node.brain().lease_end();
  node.feed(Disconnected{});
  node.run_until(end - seconds(3));
  node.connect(2);
  EXPECT_GT(node.brain().lease_end(), end);
  node.run_until(end);
  EXPECT_THAT(node.signals(), Contains(SIGKILL));
}

TEST(NodeLease, a_long_grace_ends_with_the_lease) {
  NodeFixture node = with_running_worker();
  node.say(StopWorker{key(7), minutes(5), "drain"});
  node.feed(Disconnected{});
  node.run_until(node.brain().lease_end() - seconds(1));
  EXPECT_THAT(node.signals(), Contains(SIGKILL));
}

TEST(NodeLease, an_agent_that_was_suspended_kills_at_its_first_event) {
  NodeFixture node = with_running_worker();
  node.pass(minutes(1));
  node.ack();
  EXPECT_THAT(node.signals(), Contains(SIGKILL));
}

TEST(NodeLease, adopted_workers_keep_the_lease_of_the_agent_before) {
  Adopted adopted;
  adopted.workers = {NodeFixture::report_of(key(7), kRunning)};
  adopted.lease_end = Time{seconds(1008).ns};
  NodeFixture node;
  node.feed(adopted);
  node.run_until(Time{seconds(1003).ns});
  EXPECT_THAT(node.signals(), IsEmpty());
  node.run_until(Time{seconds(1007).ns});
  EXPECT_THAT(node.signals(), testing::IsSupersetOf({SIGTERM, SIGKILL}));
}

TEST(NodeLease, adopted_workers_without_a_known_lease_are_stopped_at_once) {
  Adopted adopted;
  adopted.workers = {NodeFixture::report_of(key(7), kRunning)};
  NodeFixture node;
  node.feed(adopted);
  EXPECT_THAT(node.signals(), Contains(SIGTERM));
  node.run_until(node.now() + milliseconds(1));
  EXPECT_THAT(node.signals(), Contains(SIGKILL));
}

TEST(NodePort, ranks_beside_rank_0_wait_for_its_port) {
  NodeFixture node;
  node.connect();
  node.start(key(7, 0));
  node.start(key(7, 1));
  EXPECT_THAT(node.got<Spawn>(), IsEmpty());
  WorkerReport running = NodeFixture::report_of(key(7, 0), kRunning);
  running.master_port = 20001;
  node.changed(running);
  ASSERT_THAT(node.got<Spawn>(), SizeIs(1));
  EXPECT_EQ(node.got<Spawn>()[0].launch.key, key(7, 1));
  EXPECT_EQ(node.got<Spawn>()[0].launch.master_port, 20001);
  EXPECT_FALSE(node.got<Spawn>()[0].reserve_port);
  EXPECT_EQ(node.reported().master_port, 20001);
}

TEST(NodePort, a_rank_that_comes_after_rank_0_was_forgotten_gets_its_port) {
  NodeFixture node;
  node.connect();
  node.start(key(7, 0));
  WorkerReport over = NodeFixture::ended(key(7, 0), EndCause::kExited, 0);
  over.master_port = 20001;
  node.changed(over);
  node.say(ForgetWorker{key(7, 0)});
  node.start(key(7, 1));
  ASSERT_THAT(node.got<Spawn>(), SizeIs(1));
  EXPECT_EQ(node.got<Spawn>()[0].launch.master_port, 20001);
}

TEST(NodePort, a_rank_whose_rank_0_never_comes_reserves_a_port_itself) {
  NodeFixture node;
  node.connect();
  node.start(key(7, 1));
  EXPECT_THAT(node.got<Spawn>(), IsEmpty());
  node.run_until(node.now() + seconds(2));
  node.ack();
  node.run_until(node.now() + seconds(4));
  ASSERT_THAT(node.got<Spawn>(), SizeIs(1));
  EXPECT_TRUE(node.got<Spawn>()[0].reserve_port);
}

TEST(NodePort, a_waiting_rank_that_is_to_stop_ends_without_a_process) {
  NodeFixture node;
  node.connect();
  node.start(key(7, 1));
  node.say(StopWorker{key(7, 1), seconds(3), "cancelled"});
  EXPECT_THAT(node.signals(), IsEmpty());
  EXPECT_EQ(node.reported().end.cause, EndCause::kStopped);
}

TEST(NodePort, a_port_that_the_server_names_is_used_as_it_is) {
  NodeFixture node;
  node.connect();
  node.start(key(7, 3), 21000);
  ASSERT_THAT(node.got<Spawn>(), SizeIs(1));
  EXPECT_FALSE(node.got<Spawn>()[0].reserve_port);
}

TEST(NodeRefused, quits_at_once_without_workers) {
  NodeFixture node;
  node.feed(Connected{});
  node.feed(FromServer{{{1, 1}, 1, Refused{"the name 'a' is taken"}}});
  ASSERT_THAT(node.got<Quit>(), SizeIs(1));
  EXPECT_EQ(node.got<Quit>()[0].why, "the name 'a' is taken");
}

TEST(NodeRefused, quits_after_its_workers_have_ended) {
  NodeFixture node = with_running_worker();
  node.feed(Disconnected{});
  node.feed(Connected{});
  node.feed(FromServer{{{1, 5}, 1, Refused{"the name 'a' is taken"}}});
  EXPECT_THAT(node.got<Quit>(), IsEmpty());
  node.run_until(node.brain().lease_end() - seconds(1));
  EXPECT_THAT(node.signals(), Contains(SIGKILL));
  node.changed(NodeFixture::ended(key(7), EndCause::kSignalled, 9));
  EXPECT_THAT(node.got<Quit>(), SizeIs(1));
}

TEST(NodeLeave, stops_its_workers_and_starts_no_more) {
  NodeFixture node = with_running_worker();
  node.feed(Leave{seconds(3), "the agent stops"});
  EXPECT_THAT(node.signals(), ElementsAre(SIGTERM));
  node.start(key(8));
  EXPECT_THAT(node.got<Spawn>(), IsEmpty());
  node.changed(NodeFixture::ended(key(7), EndCause::kSignalled, 15));
  EXPECT_EQ(node.brain().live_count(), 0u);
}

/// RETURNS: how long after it was asked to stop a worker is killed.
Duration killed_after(NodeFixture& node) {
  const Time asked = node.now();
  for (int step = 0; step < 100; ++step) {
    node.run_until(node.now() + milliseconds(100));
    if (!node.signals().empty()) break;
  }
  EXPECT_THAT(node.signals(), ElementsAre(SIGKILL));
  return node.now() - asked;
}

TEST(NodeLeave, a_worker_gets_its_jobs_grace) {
  NodeFixture node;
  node.connect();
  StartWorker order;
  order.launch.key = key(7);
  order.launch.grace = seconds(2);
  order.launch.master_port = 29'500;
  node.say(order);
  node.changed(NodeFixture::report_of(key(7), kRunning));
  node.feed(Leave{seconds(30), "the agent stops"});
  EXPECT_THAT(node.signals(), ElementsAre(SIGTERM));
  EXPECT_EQ(killed_after(node), seconds(2));
}

TEST(NodeLeave, an_adopted_worker_gets_what_the_agent_gives) {
  const Time lease_end = NodeFixture().now() + seconds(10);
  NodeFixture node(Adopted{{NodeFixture::report_of(key(7), kRunning)}, lease_end});
  node.connect();
  node.feed(Leave{seconds(3), "the agent stops"});
  EXPECT_EQ(killed_after(node), seconds(3));
}

// Complaint 30: a worker in D state, and its launcher waits for ever.
TEST(NodeHang, gives_a_worker_up_that_no_kill_has_reached_for_ten_seconds) {
  NodeFixture node = with_running_worker();
  node.feed(WorkerHangs{key(7), {4711}});
  EXPECT_THAT(node.got<GiveUp>(), IsEmpty()) << "nobody wants to kill it";
  node.say(StopWorker{key(7), seconds(1), "cancelled"});
  node.run_until(node.now() + seconds(1));
  EXPECT_THAT(node.signals(), Contains(SIGKILL));
  for (int i = 0; i < 9; ++i) {
    node.run_until(node.now() + seconds(1));
    node.ack();
    node.feed(WorkerHangs{key(7), {4711, 4712}});
    EXPECT_THAT(node.got<GiveUp>(), IsEmpty()) << "after " << i + 1 << " s";
    EXPECT_EQ(node.reported().status, WorkerStatus::kStopping);
  }
  node.run_until(node.now() + seconds(1));
  node.feed(WorkerHangs{key(7), {4711, 4712}});
  ASSERT_THAT(node.got<GiveUp>(), SizeIs(1));
  EXPECT_EQ(node.got<GiveUp>()[0].pid, 4711);
  EXPECT_EQ(node.reported().status, WorkerStatus::kEnded);
  EXPECT_EQ(node.reported().end.cause, EndCause::kStopped);
  EXPECT_THAT(node.reported().end.last_words, HasSubstr("process 4711 waits in the kernel"));
  EXPECT_EQ(node.brain().live_count(), 0u);
  node.feed(WorkerHangs{key(7), {4711}});
  EXPECT_THAT(node.got<GiveUp>(), IsEmpty()) << "once is enough";
}

TEST(NodeHang, quarantines_before_it_tells_the_end) {
  NodeFixture node = with_running_worker();
  node.say(StopWorker{key(7), {}, "cancelled"});
  for (int i = 0; i < 11; ++i) {
    node.run_until(node.now() + seconds(1));
    node.ack();
  }
  const Effects effects = node.feed(WorkerHangs{key(7), {4711}});
  const auto place_of = [&](auto wanted) {
    for (size_t i = 0; i < effects.size(); ++i) {
      if (std::holds_alternative<decltype(wanted)>(effects[i])) return i;
    }
    return effects.size();
  };
  EXPECT_LT(place_of(GiveUp{}), place_of(SendReport{}));
  EXPECT_LT(place_of(SendReport{}), effects.size());
}

TEST(NodeHang, tells_the_real_end_of_a_forgotten_worker_once_more) {
  NodeFixture node = with_running_worker();
  node.say(StopWorker{key(7), {}, "cancelled"});
  for (int i = 0; i < 11; ++i) {
    node.run_until(node.now() + seconds(1));
    node.ack();
  }
  node.feed(WorkerHangs{key(7), {4711}});
  node.say(ForgetWorker{key(7)});
  EXPECT_THAT(node.got<ForgetProcess>(), SizeIs(1));
  node.changed(NodeFixture::ended(key(7), EndCause::kSignalled, SIGKILL));
  EXPECT_EQ(node.reported().status, WorkerStatus::kEnded) << "so that the server says forget again";
  node.say(ForgetWorker{key(7)});
  EXPECT_THAT(node.got<ForgetProcess>(), SizeIs(1));
}

}  // namespace
}  // namespace keiko::node
