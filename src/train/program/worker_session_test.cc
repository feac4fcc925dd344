// The worker's side of the agent socket, against a small agent of this test.
#include "train/program/worker_session.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/log.h"
#include "ports/collective_fake.h"
#include "train/program/command.h"

namespace keiko::train {
namespace {

using nlohmann::json;

/// Listens as an agent does, and reads and writes lines.
class TestAgent {
 public:
  explicit TestAgent(const std::string& path) : listener_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    unlink(path.c_str());
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_, 4), 0);
  }
  ~TestAgent() {
    hang_up();
    close(listener_);
  }

  void take_call() { worker_ = accept(listener_, nullptr, nullptr); }
  void hang_up() {
    if (worker_ >= 0) close(worker_);
    worker_ = -1;
    input_.clear();
  }

  void say(const std::string& line) {
    ASSERT_EQ(send(worker_, line.data(), line.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(line.size()));
  }

  /// The next line; an empty object if none comes within 10 s.
  json hear() {
    while (input_.find('\n') == std::string::npos) {
      pollfd fd{worker_, POLLIN, 0};
      char block[1024];
      if (poll(&fd, 1, 10'000) <= 0) return json::object();
      const ssize_t n = recv(worker_, block, sizeof(block), 0);
      if (n <= 0) return json::object();
      input_.append(block, static_cast<size_t>(n));
    }
    const size_t end = input_.find('\n');
    const json message = json::parse(input_.substr(0, end));
    input_.erase(0, end + 1);
    return message;
  }

 private:
  int listener_;
  int worker_ = -1;
  std::string input_;
};

class WorkerSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "keiko-sock-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    options_ = {folder_ + "/agent", "j1", 3, 2, milliseconds(5)};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static SessionNotice await_notice(const WorkerSession& session) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < limit) {
      if (const auto notice = session.notice()) return *notice;
      std::this_thread::yield();
    }
    return {};
  }

  std::string folder_;
  SessionOptions options_;
};

TEST_F(WorkerSessionTest, says_hello_and_then_what_happens) {
  TestAgent agent(options_.socket_path);
  WorkerSession session(options_);
  agent.take_call();
  const json hello = agent.hear();
  EXPECT_EQ(hello["type"], "hello");
  EXPECT_EQ(hello["protocol"], 1);
  EXPECT_EQ(hello["job"], "j1");
  EXPECT_EQ(hello["rank"], 3);
  EXPECT_EQ(hello["attempt"], 2);
  EXPECT_EQ(hello["pid"], getpid());

  session.progress({5, 10, 2.5, 60, 3840, 1234.5});
  EXPECT_EQ(agent.hear(), json::parse(R"({"type":"progress","step":5,"total_steps":10,"loss":2.5,
                                          "samples":60,"tokens":3840,"tokens_per_s":1234.5})"));
  session.checkpoint(5, "/c/step-5");
  EXPECT_EQ(agent.hear(), json::parse(R"({"type":"checkpoint","step":5,"ref":"/c/step-5"})"));
  session.ack(7);
  EXPECT_EQ(agent.hear(), json::parse(R"({"type":"ack","id":7})"));
  EXPECT_TRUE(session.flush(seconds(5)));
}

TEST_F(WorkerSessionTest, hears_a_notice_even_in_pieces_and_after_nonsense) {
  TestAgent agent(options_.socket_path);
  WorkerSession session(options_);
  agent.take_call();
  agent.hear();
  agent.say("not json\n{\"type\":\"future\"}\n[1]\n{\"type\":\"notice\",\"id\":4,\"dead");
  agent.say("line_ms\":1500,\"reason\":\"preempted\"}\n");
  const SessionNotice notice = await_notice(session);
  EXPECT_EQ(notice.id, 4);
  EXPECT_EQ(notice.deadline, milliseconds(1500));
  EXPECT_EQ(notice.reason, "preempted");
}

TEST_F(WorkerSessionTest, keeps_what_matters_for_an_agent_that_comes_back) {
  TestAgent agent(options_.socket_path);
  WorkerSession session(options_);
  agent.take_call();
  agent.hear();
  agent.hang_up();
  agent.take_call();  // the worker dials again
  EXPECT_EQ(agent.hear()["type"], "hello");
  session.checkpoint(9, "nine");
  EXPECT_EQ(agent.hear()["step"], 9);
}

TEST_F(WorkerSessionTest, never_blocks_without_an_agent) {
  set_log_level(LogLevel::kOff);
  WorkerSession session(options_);
  for (int i = 0; i < 1000; ++i) session.progress({i, 1000, 1.0, 0, 0, 0});
  session.checkpoint(1, "one");
  EXPECT_FALSE(session.notice().has_value());
  EXPECT_FALSE(session.flush(milliseconds(20)));
  WorkerSession alone(SessionOptions{});
  alone.ack(1);
  EXPECT_TRUE(alone.flush(milliseconds(1)));
  set_log_level(LogLevel::kInfo);
}

TEST_F(WorkerSessionTest, drops_progress_for_an_agent_that_does_not_read) {
  TestAgent agent(options_.socket_path);
  WorkerSession session(options_);
  agent.take_call();
  for (int i = 0; i < 50'000; ++i) session.progress({i, 1000, std::nan(""), 0, 0, 0});
  session.checkpoint(1, "one");
  json message = agent.hear();
  int lines = 0;
  while (message.contains("type") && message["type"] != "checkpoint") {
    message = agent.hear();
    ++lines;
  }
  EXPECT_EQ(message["ref"], "one");
  EXPECT_LT(lines, 50'000);
}

TEST_F(WorkerSessionTest, a_notice_ends_the_run_with_a_checkpoint_and_then_an_ack) {
  TestAgent agent(options_.socket_path);
  const std::string data = folder_ + "/text";
  std::ofstream(data) << std::string(2000, 'a') + std::string(2000, 'b');
  int code = -1;
  testing::internal::CaptureStdout();
  std::thread worker([&] {
    code = run_command({"gpt", "--data", data, "--steps", "1000000", "--layers", "1", "--heads",
                        "1", "--width", "8", "--context", "4", "--batch", "2",
                        "--checkpoint-every", "0"},
                       {{"KEIKO_SOCKET", options_.socket_path},
                        {"KEIKO_JOB_ID", "j9"},
                        {"KEIKO_CHECKPOINT_DIR", folder_ + "/checkpoints"}},
                       [](const RankEnvironment&) -> Result<std::unique_ptr<Collective>> {
                         return std::move(make_fake_collectives({1, seconds(60)})[0]);
                       });
  });
  agent.take_call();
  EXPECT_EQ(agent.hear()["job"], "j9");
  EXPECT_EQ(agent.hear()["type"], "progress");
  agent.say("{\"type\":\"notice\",\"id\":12,\"deadline_ms\":5000,\"reason\":\"preempted\"}\n");
  json message = agent.hear();
  while (message.contains("type") && message["type"] == "progress") message = agent.hear();
  EXPECT_EQ(message["type"], "checkpoint");
  EXPECT_TRUE(std::filesystem::exists(message["ref"].get<std::string>()));
  EXPECT_EQ(agent.hear(), json::parse(R"({"type":"ack","id":12})"));
  worker.join();
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace keiko::train
