// The gloo driver: the port's conformance test on loopback, its rendezvous, and real deaths.
#include "drivers/collective/gloo/gloo_collective.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "drivers/collective/gloo/tcp_store.h"
#include "ports/collective_conformance.h"

namespace keiko {
namespace {

/// A port below the range that the kernel hands out, so that nobody gets it by chance meanwhile;
/// where the search starts depends on the process, so that test programs side by side do not meet.
int free_port() {
  static int next = static_cast<int>(getpid()) * 37;
  while (true) {
    const int port = 15'000 + next++ % 15'000;
    if (TcpStoreServer::open("127.0.0.1", port, "probe").ok()) return port;
  }
}

GlooOptions options_of(int rank, int world, int port) {
  GlooOptions options;
  options.rank = rank;
  options.world = world;
  options.master_port = port;
  options.connect_timeout = seconds(20);
  return options;
}

CollectiveGroup make_gloo_group(int world, Duration op_timeout) {
  const int port = free_port();
  CollectiveGroup group(static_cast<size_t>(world));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      GlooOptions options = options_of(rank, world, port);
      options.op_timeout = op_timeout;
      group[static_cast<size_t>(rank)] = MUST(open_gloo_collective(options));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return group;
}
INSTANTIATE_TEST_SUITE_P(Gloo, CollectiveConformance, testing::Values(&make_gloo_group));

TEST(GlooRendezvous, says_who_is_missing_when_a_rank_never_comes) {
  GlooOptions options = options_of(0, 2, free_port());
  options.connect_timeout = milliseconds(300);
  const auto outcome = open_gloo_collective(options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kDeadlineExceeded) << outcome.error().text();
}

TEST(GlooRendezvous, says_where_it_looked_when_rank_0_never_comes) {
  GlooOptions options = options_of(1, 2, free_port());
  options.connect_timeout = milliseconds(300);
  const auto outcome = open_gloo_collective(options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("127.0.0.1:"), std::string::npos);
}

TEST(GlooRendezvous, refuses_a_rank_of_another_attempt) {
  auto server = MUST(TcpStoreServer::open("127.0.0.1", 0, "j1 attempt 2"));
  GlooOptions options = options_of(1, 2, server->port());
  options.name = "j1 attempt 1";
  const auto outcome = open_gloo_collective(options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::kFailedPrecondition);
  EXPECT_NE(outcome.error().message.find("j1 attempt 2"), std::string::npos);
}

TEST(GlooRendezvous, names_the_port_that_is_taken) {
  auto other = MUST(TcpStoreServer::open("127.0.0.1", 0, "other"));
  const auto outcome = open_gloo_collective(options_of(0, 2, other->port()));
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find(std::to_string(other->port())), std::string::npos);
}

TEST(GlooRendezvous, refuses_ranks_outside_the_world) {
  EXPECT_EQ(open_gloo_collective(options_of(3, 2, 5000)).error().code, Code::kInvalidArgument);
  EXPECT_EQ(open_gloo_collective(options_of(0, 2, 0)).error().code, Code::kInvalidArgument);
}

TEST(GlooRendezvous, frees_the_port_once_the_ranks_are_connected) {
  const int port = free_port();
  Result<std::unique_ptr<Collective>> peer = unavailable("not yet");
  std::thread other([&] { peer = open_gloo_collective(options_of(1, 2, port)); });
  auto mine = open_gloo_collective(options_of(0, 2, port));
  other.join();
  ASSERT_TRUE(mine.ok() && peer.ok());
  EXPECT_TRUE(TcpStoreServer::open("127.0.0.1", port, "next").ok());
}

TEST(TcpStore, get_waits_for_set_and_gives_up_at_its_deadline) {
  auto server = MUST(TcpStoreServer::open("127.0.0.1", 0, "t"));
  auto reader = MUST(TcpStoreClient::dial("127.0.0.1", server->port(), "t", seconds(5)));
  auto writer = MUST(TcpStoreClient::dial("127.0.0.1", server->port(), "t", seconds(5)));
  std::thread later([&] { EXPECT_TRUE(writer->set("key", "value").ok()); });
  EXPECT_EQ(MUST(reader->get("key", seconds(10))), "value");
  later.join();
  const auto missing = reader->get("other", milliseconds(50));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kDeadlineExceeded);
}

/// Starts this program again as rank `rank` of 3 in the all_reduce loop below.
pid_t start_child(int rank, int port) {
  const std::string rank_text = std::to_string(rank);
  const std::string port_text = std::to_string(port);
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("TEST_RANK", rank_text.c_str(), 1);
    setenv("TEST_PORT", port_text.c_str(), 1);
    execl("/proc/self/exe", "test", "--gtest_filter=GlooChild.*",
          "--gtest_also_run_disabled_tests", "--gtest_brief=1", nullptr);
    _exit(99);
  }
  return pid;
}

/// Reduces until an error comes. RETURNS: that error.
Error reduce_until_error(Collective& rank) {
  std::vector<float> buffer(200'000, 1.0F);
  while (true) {
    const Done outcome =
        rank.all_reduce({buffer.data(), buffer.size(), ElementType::kF32}, ReduceOp::kMax);
    if (!outcome.ok()) return outcome.error();
  }
}

TEST(GlooChild, DISABLED_loops_as_a_rank) {
  auto rank = MUST(open_gloo_collective(
      options_of(std::atoi(getenv("TEST_RANK")), 3, std::atoi(getenv("TEST_PORT")))));
  reduce_until_error(*rank);
  _exit(42);
}

TEST(GlooDeath, a_killed_process_is_noticed_by_all_survivors) {
  const int port = free_port();
  const pid_t victim = start_child(1, port);
  const pid_t survivor = start_child(2, port);
  auto mine = MUST(open_gloo_collective(options_of(0, 3, port)));
  std::chrono::steady_clock::time_point killed;
  std::vector<float> buffer(200'000, 1.0F);
  for (int i = 0; i < 20; ++i) {
    MUST(mine->all_reduce({buffer.data(), buffer.size(), ElementType::kF32}, ReduceOp::kMax));
  }
  std::thread killer([&] {
    killed = std::chrono::steady_clock::now();
    kill(victim, SIGKILL);
  });
  const Error error = reduce_until_error(*mine);
  killer.join();
  const auto noticed = std::chrono::steady_clock::now() - killed;
  EXPECT_EQ(error.code, Code::kUnavailable) << error.text();
  EXPECT_LT(noticed, std::chrono::seconds(5));
  RecordProperty("noticed_us", std::to_string(noticed.count() / 1000));
  int status = 0;
  waitpid(victim, &status, 0);
  waitpid(survivor, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

}  // namespace
}  // namespace keiko
