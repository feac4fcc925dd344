#include "agent/agent_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "agent/agent_fixture.h"
#include "base/log.h"

namespace keiko::agent {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using AgentLoopTest = AgentFixture;

TEST_F(AgentLoopTest, says_hello_with_what_it_found) {
  turn();
  ASSERT_TRUE(link_->dialling);
  EXPECT_EQ(link_->server, "server:7070");
  link_->connect();
  turn();
  ASSERT_THAT(link_->hellos, SizeIs(1));
  const NodeSpec& node = link_->hellos[0].node;
  EXPECT_EQ(node.name, "a");
  EXPECT_EQ(node.address, "10.0.0.1");
  EXPECT_THAT(node.devices, SizeIs(2));
  EXPECT_EQ(node.instance, folder_->instance());
  EXPECT_GT(node.cpu_milli, 0);
  EXPECT_GT(node.memory.count, 0);
  EXPECT_EQ(node.host, fake_host());
}

TEST_F(AgentLoopTest, joins_as_well_where_nobody_can_tell_what_the_machine_is) {
  crash_agent();
  host_.fail_with(unavailable("no sysfs here"));
  start_agent();
  join();
  ASSERT_THAT(link_->hellos, SizeIs(1));
  EXPECT_FALSE(link_->hellos[0].node.host.has_value());
  EXPECT_THAT(link_->hellos[0].node.devices, SizeIs(2));
  crash_agent();
  host_.fail_with({Code::kOk, {}, {}});
  HostSpec too_large;
  too_large.nics.resize(5000);
  host_.set_spec(too_large);
  start_agent();
  EXPECT_FALSE(loop_->spec().host.has_value()) << "the server would refuse it";
}

TEST_F(AgentLoopTest, runs_a_worker_from_start_to_forgotten) {
  join();
  start_worker({"exit", "3"});
  EXPECT_EQ(last_report().status, WorkerStatus::kStarting);
  EXPECT_NE(last_report().master_port, 0);
  advance();
  EXPECT_EQ(last_report().status, WorkerStatus::kRunning);
  EXPECT_NE(last_report().pid, 0);
  advance();
  EXPECT_EQ(last_report().status, WorkerStatus::kEnded);
  EXPECT_EQ(last_report().end.cause, EndCause::kExited);
  EXPECT_EQ(last_report().end.exit_code, 3);
  say(ForgetWorker{kKey});
  beat();
  EXPECT_THAT(link_->reports.back().workers, IsEmpty());
  EXPECT_THAT(substrate_->poll(), IsEmpty());
}

TEST_F(AgentLoopTest, reports_a_program_that_is_not_there) {
  join();
  start_worker({"no-such-program"});
  advance();
  EXPECT_EQ(last_report().end.cause, EndCause::kStartFailed);
  EXPECT_THAT(last_report().end.last_words, HasSubstr("no-such-program"));
}

TEST_F(AgentLoopTest, reports_a_worker_whose_devices_are_gone) {
  join();
  WorkerLaunch launch = launch_of({"sleep"});
  launch.devices = {Device{"fake-99", "cpu", "cpu", 0, 0, {}, {}}};
  say(StartWorker{launch});
  EXPECT_EQ(last_report().status, WorkerStatus::kEnded);
  EXPECT_EQ(last_report().end.cause, EndCause::kNotWell);
  EXPECT_THAT(last_report().end.last_words, HasSubstr("fake-99"));
  EXPECT_THAT(substrate_->poll(), IsEmpty());
}

TEST_F(AgentLoopTest, stops_a_worker_and_kills_it_after_its_grace) {
  join();
  start_worker({"ignore-term"});
  advance();
  say(StopWorker{kKey, seconds(3), "cancelled"});
  EXPECT_EQ(last_report().status, WorkerStatus::kStopping);
  advance();
  beat();
  beat();
  advance();
  EXPECT_EQ(last_report().status, WorkerStatus::kStopping);
  beat();
  advance();
  EXPECT_EQ(last_report().status, WorkerStatus::kEnded);
  EXPECT_EQ(last_report().end.cause, EndCause::kStopped);
}

TEST_F(AgentLoopTest, stops_its_workers_before_the_lease_ends) {
  join();
  start_worker({"ignore-term"});
  advance();
  link_->lose("the cable is cut");
  turn();
  pass(seconds(5));
  advance();
  EXPECT_EQ(substrate_->poll()[0].status, WorkerStatus::kRunning);
  pass(seconds(1));  // 4 s are left: asked to stop
  pass(seconds(2));  // 2 s are left: killed
  advance();
  ASSERT_EQ(substrate_->poll()[0].status, WorkerStatus::kEnded);
  EXPECT_EQ(substrate_->poll()[0].end.signal, SIGKILL);
  join();
  EXPECT_EQ(last_report().end.cause, EndCause::kLeaseEnded);
}

// Complaint 27: workers are lost or doubled when the agent restarts.
TEST_F(AgentLoopTest, adopts_the_workers_of_the_agent_before_it) {
  join();
  start_worker({"sleep"});
  advance();
  const std::string instance = loop_->spec().instance;
  crash_agent();
  start_agent();
  join();
  ASSERT_THAT(link_->hellos.back().workers, SizeIs(1));
  EXPECT_EQ(link_->hellos.back().workers[0].status, WorkerStatus::kRunning);
  EXPECT_EQ(link_->hellos.back().node.instance, instance);
  say(StopWorker{kKey, seconds(3), "cancelled"});
  advance();
  EXPECT_EQ(last_report().end.cause, EndCause::kStopped);
}

// Complaint 32: what went away while nobody looked hangs for ever.
TEST_F(AgentLoopTest, finds_what_ended_while_no_agent_was_there) {
  join();
  start_worker({"exit", "0"});
  advance();
  crash_agent();
  machine_.advance();
  start_agent();
  join();
  ASSERT_THAT(link_->hellos.back().workers, SizeIs(1));
  EXPECT_EQ(link_->hellos.back().workers[0].end.cause, EndCause::kExited);
}

TEST_F(AgentLoopTest, dials_again_more_and_more_patiently) {
  turn();
  ASSERT_EQ(link_->opened_count, 1);
  link_->lose("connection refused");
  turn();
  EXPECT_EQ(link_->opened_count, 1);
  pass(milliseconds(100));
  EXPECT_EQ(link_->opened_count, 2);
  for (int i = 0; i < 10; ++i) {
    link_->lose("connection refused");
    turn();
    pass(seconds(2));
  }
  EXPECT_EQ(link_->opened_count, 12);
  link_->lose("connection refused");
  turn();
  pass(milliseconds(900));
  EXPECT_EQ(link_->opened_count, 12);
}

TEST_F(AgentLoopTest, gives_up_a_stream_that_has_gone_silent) {
  join();
  pass(seconds(1));
  pass(seconds(1));
  EXPECT_TRUE(link_->up);
  pass(seconds(2));
  EXPECT_FALSE(link_->up);
  turn();
  pass(milliseconds(100));
  EXPECT_TRUE(link_->dialling);
}

TEST_F(AgentLoopTest, gives_up_a_stream_that_brings_more_than_it_can_hold) {
  crash_agent();
  options_.queue_limit = 10;
  start_agent();
  join();
  for (uint64_t i = 0; i < 20; ++i) link_->say({session_, ++sequence_, ReportAck{i}});
  turn();
  EXPECT_FALSE(link_->up);
}

TEST_F(AgentLoopTest, ends_when_the_server_refuses_it) {
  turn();
  link_->connect();
  turn();
  link_->say({session_, 1, Refused{"the name 'a' is taken"}});
  EXPECT_FALSE(turn());
  const Done ended = loop_->run();
  ASSERT_FALSE(ended.ok());
  EXPECT_THAT(ended.error().message, HasSubstr("the name 'a' is taken"));
}

TEST_F(AgentLoopTest, leaves_its_workers_running_when_it_is_told_to_stop) {
  join();
  start_worker({"sleep"});
  advance();
  loop_->stop(false);
  EXPECT_FALSE(turn());
  machine_.advance();
  EXPECT_EQ(substrate_->poll()[0].status, WorkerStatus::kRunning);
}

TEST_F(AgentLoopTest, takes_its_workers_along_when_it_is_told_to) {
  join();
  start_worker({"sleep"});
  advance();
  loop_->stop(true);
  EXPECT_TRUE(turn());
  advance();
  EXPECT_EQ(last_report().end.cause, EndCause::kNodeLeft);
  EXPECT_TRUE(turn());  // until the server has heard of it
  say(ForgetWorker{kKey});
  EXPECT_FALSE(turn());
}

TEST_F(AgentLoopTest, does_not_wait_for_a_server_that_does_not_listen_when_it_stops) {
  join();
  start_worker({"sleep"});
  advance();
  loop_->stop(true);
  turn();
  advance();
  EXPECT_TRUE(turn());
  clock_.advance(seconds(1));
  EXPECT_FALSE(turn());
}

TEST_F(AgentLoopTest, passes_on_what_a_worker_says) {
  join();
  start_worker({"sleep"});
  advance();
  const std::string path = worker_paths(state_dir_, kKey).socket;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string line = "{\"type\":\"progress\",\"step\":4,\"loss\":2.5}\n"
                           "{\"type\":\"checkpoint\",\"step\":4,\"ref\":\"/c/4\"}\n";
  ASSERT_EQ(write(fd, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  const size_t before = link_->reports.size();
  while (link_->reports.size() == before) loop_->turn(seconds(1));
  EXPECT_EQ(last_report().checkpoint.ref, "/c/4");
  ASSERT_TRUE(last_report().progress);
  EXPECT_EQ(last_report().progress->loss, 2.5);
  close(fd);
}

TEST_F(AgentLoopTest, says_a_checkpoint_before_the_end_that_followed_it) {
  join();
  start_worker({"exit", "0"});
  advance();
  const std::string path = worker_paths(state_dir_, kKey).socket;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string line = "{\"type\":\"checkpoint\",\"step\":9,\"ref\":\"/c/9\"}\n";
  ASSERT_EQ(write(fd, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  close(fd);
  advance();
  EXPECT_EQ(last_report().status, WorkerStatus::kEnded);
  EXPECT_EQ(last_report().checkpoint.ref, "/c/9");
}

TEST_F(AgentLoopTest, tells_readings_while_the_server_listens_and_forgets_them_else) {
  const std::vector<Reading> readings = {{{SubjectKind::kNode, ""}, {{"load_1m", 1}}}};
  loop_->send_readings(readings);
  join();
  EXPECT_THAT(link_->readings, IsEmpty());
  loop_->send_readings(readings);
  EXPECT_THAT(link_->readings, testing::ElementsAre(readings));
}

TEST_F(AgentLoopTest, says_what_holds_its_workers) {
  join();
  ASSERT_TRUE(link_->hellos.back().node.isolation.has_value());
  EXPECT_EQ(*link_->hellos.back().node.isolation, substrate_->isolation());
}

TEST_F(AgentLoopTest, gives_a_device_back_when_the_worker_that_hung_on_it_is_gone) {
  join();
  WorkerLaunch launch = launch_of({"sleep"});
  launch.devices = {fake_inventory(2).devices[0]};
  say(StartWorker{launch});
  advance();
  machine_.hang(kKey);
  say(StopWorker{kKey, {}, "cancelled"});
  for (int i = 0; i < 20 && last_report().status != WorkerStatus::kEnded; ++i) beat();
  EXPECT_TRUE(told_of("fake-0").quarantined);
  machine_.unhang(kKey);
  advance();
  beat();
  EXPECT_FALSE(told_of("fake-0").quarantined) << "nobody tests it here";
}

/// A machine with two sockets of two cores and an accelerator on each.
class TwoSocketsTest : public AgentFixture {
 protected:
  void SetUp() override {
    AgentFixture::SetUp();
    crash_agent();
    HostSpec host = fake_host();
    host.numa = {{0, 0, "0-1", gibibytes(16)}, {1, 1, "2-3", gibibytes(16)}};
    host_.set_spec(host);
    Inventory inventory = fake_inventory(4);
    for (Device& device : inventory.devices) {
      device.vendor = "nvidia";
      device.numa_node = device.index / 2;
    }
    devices_.set_inventory(inventory);
    usable_cores_ = [] { return std::vector<int32_t>{0, 1, 2, 3}; };
    start_agent();
    join();
  }
  std::vector<int32_t> cores_of(int32_t rank) {
    for (const ProcessState& state : substrate_->poll()) {
      if (state.key.rank == rank) return state.cpus;
    }
    return {-1};
  }
  void start_rank(int32_t rank, int64_t cpu_milli = 0) {
    WorkerLaunch launch = launch_of({"sleep"});
    launch.key.rank = rank;
    launch.master_port = 20'000;
    launch.cpu_milli = cpu_milli;
    launch.devices = {loop_->spec().devices[static_cast<size_t>(rank)]};
    say(StartWorker{launch});
  }
};

TEST_F(TwoSocketsTest, binds_workers_to_cores_beside_their_devices_without_overlap) {
  for (int32_t rank = 0; rank < 4; ++rank) start_rank(rank);
  for (int32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(cores_of(rank), std::vector<int32_t>{rank}) << "of rank " << rank;
  }
}

TEST_F(TwoSocketsTest, knows_after_a_restart_which_cores_are_taken) {
  start_rank(1, 1000);
  EXPECT_EQ(cores_of(1), std::vector<int32_t>{1});
  crash_agent();
  start_agent();
  join();
  start_rank(0, 2000);
  EXPECT_EQ(cores_of(0), (std::vector<int32_t>{0, 1})) << "it asks for both, and meets rank 1";
  start_rank(2, 1000);
  EXPECT_EQ(cores_of(2), std::vector<int32_t>{2});
}

TEST_F(TwoSocketsTest, binds_nothing_where_it_is_told_not_to) {
  crash_agent();
  options_.bind_near_devices = false;
  start_agent();
  join();
  start_rank(0);
  EXPECT_THAT(cores_of(0), IsEmpty());
}

TEST_F(AgentLoopTest, keeps_other_agents_out_of_its_folder) {
  const auto second = StateFolder::open(state_dir_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message,
              HasSubstr("another agent (pid " + std::to_string(getpid()) + ")"));
}

TEST_F(AgentLoopTest, does_not_touch_the_folder_of_a_newer_version) {
  crash_agent();
  std::ofstream(state_dir_ + "/format") << "2\n";
  const auto folder = StateFolder::open(state_dir_);
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message, HasSubstr("format 2"));
}

TEST_F(AgentLoopTest, says_where_it_cannot_write) {
  crash_agent();
  std::ofstream(state_dir_ + "/file") << "x";
  const auto folder = StateFolder::open(state_dir_ + "/file/state");
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message, HasSubstr(state_dir_ + "/file/state"));
}

}  // namespace
}  // namespace keiko::agent
