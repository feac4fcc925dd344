#include "agent/worker_sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/log.h"

namespace keiko::agent {
namespace {

using testing::HasSubstr;

constexpr WorkerKey kKey{JobId{7}, 1, 0};
constexpr int kPatienceMs = 20'000;

/// A worker's end of a socket.
class Dialler {
 public:
  explicit Dialler(const std::string& path) {
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Dialler() { hang_up(); }
  Dialler(const Dialler&) = delete;
  Dialler& operator=(const Dialler&) = delete;

  bool connected() const { return connected_; }
  bool say(const std::string& text) const {
    return send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// RETURNS: the next line; "closed" at the end, "silence" after the test's patience.
  std::string hear() {
    size_t end = 0;
    while ((end = heard_.find('\n')) == std::string::npos) {
      pollfd poll_fd{fd_, POLLIN, 0};
      if (poll(&poll_fd, 1, kPatienceMs) <= 0) return "silence";
      char buffer[4096];
      const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) return "closed";
      heard_.append(buffer, static_cast<size_t>(got));
    }
    const std::string line = heard_.substr(0, end);
    heard_.erase(0, end + 1);
    return line;
  }
  void hang_up() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
  std::string heard_;
};

class WorkerSocketsTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::kOff);
    std::string pattern = testing::TempDir() + "keiko_sockets_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/workers/j7.1.0/socket";
    sockets_ = MUST(WorkerSockets::open([] {}));
    ASSERT_TRUE(sockets_->listen(kKey, path_).ok());
    sockets_->drain(kKey);
  }
  void TearDown() override {
    sockets_.reset();
    std::filesystem::remove_all(folder_);
    set_log_level(LogLevel::kInfo);
  }
  WorkerNews news() {
    sockets_->drain(kKey);
    const std::vector<WorkerNews> all = sockets_->take();
    return all.empty() ? WorkerNews{} : all.front();
  }

  std::string folder_;
  std::string path_;
  std::unique_ptr<WorkerSockets> sockets_;
};

TEST_F(WorkerSocketsTest, keeps_the_latest_of_what_a_worker_said) {
  Dialler worker(path_);
  ASSERT_TRUE(worker.connected());
  ASSERT_TRUE(worker.say("{\"type\":\"hello\",\"protocol\":1}\n"
                         "{\"type\":\"progress\",\"step\":1}\n{\"type\":\"progress\",\"step\":2}\n"
                         "{\"type\":\"checkpoint\",\"step\":2,\"ref\":\"/c/2\"}\n"
                         "{\"type\":\"checkpoint\",\"step\":1,\"ref\":\"/c/1\"}\n"
                         "{\"type\":\"ack\",\"id\":5}\n"));
  const WorkerNews said = news();
  EXPECT_EQ(said.key, kKey);
  ASSERT_TRUE(said.progress && said.checkpoint && said.ack);
  EXPECT_EQ(said.progress->step, 2);
  EXPECT_EQ(said.checkpoint->ref, "/c/2");
  EXPECT_EQ(*said.ack, 5);
  EXPECT_FALSE(news().progress);
}

TEST_F(WorkerSocketsTest, joins_a_line_that_comes_in_pieces) {
  Dialler worker(path_);
  ASSERT_TRUE(worker.say("{\"type\":\"prog"));
  EXPECT_FALSE(news().progress);
  ASSERT_TRUE(worker.say("ress\",\"step\":3}\n{"));
  const WorkerNews said = news();
  ASSERT_TRUE(said.progress);
  EXPECT_EQ(said.progress->step, 3);
}

TEST_F(WorkerSocketsTest, hears_the_last_words_of_a_worker_that_has_ended) {
  {
    Dialler worker(path_);
    ASSERT_TRUE(worker.say("{\"type\":\"checkpoint\",\"step\":9,\"ref\":\"/c/9\"}\n"));
  }
  const WorkerNews said = news();
  ASSERT_TRUE(said.checkpoint);
  EXPECT_EQ(said.checkpoint->step, 9);
}

TEST_F(WorkerSocketsTest, closes_the_connection_that_says_garbage_and_no_other) {
  Dialler good(path_);
  Dialler bad(path_);
  ASSERT_TRUE(bad.say("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(bad.hear(), "closed");
  ASSERT_TRUE(good.say("{\"type\":\"progress\",\"step\":4}\n"));
  EXPECT_TRUE(news().progress);
  Dialler again(path_);
  ASSERT_TRUE(again.say("{\"type\":\"progress\",\"step\":5}\n"));
  EXPECT_TRUE(news().progress);
}

TEST_F(WorkerSocketsTest, closes_the_connection_whose_line_never_ends) {
  Dialler worker(path_);
  worker.say(std::string(2 * kMaxLineBytes, 'x'));
  EXPECT_EQ(worker.hear(), "closed");
}

TEST_F(WorkerSocketsTest, tells_a_worker_to_stop) {
  Dialler worker(path_);
  ASSERT_TRUE(worker.connected());
  sockets_->drain(kKey);
  sockets_->notify(kKey, seconds(30), "drained");
  const std::string line = worker.hear();
  EXPECT_THAT(line, HasSubstr("\"type\":\"notice\""));
  EXPECT_THAT(line, HasSubstr("\"reason\":\"drained\""));
  EXPECT_THAT(line, HasSubstr("\"id\":1"));
}

TEST_F(WorkerSocketsTest, tells_a_worker_that_dials_after_the_notice) {
  sockets_->notify(kKey, seconds(30), "drained");
  sockets_->drain(kKey);
  Dialler worker(path_);
  EXPECT_THAT(worker.hear(), HasSubstr("drained"));
}

TEST_F(WorkerSocketsTest, is_not_held_up_by_a_worker_that_never_reads) {
  Dialler deaf(path_);
  ASSERT_TRUE(deaf.connected());
  sockets_->drain(kKey);
  for (int i = 0; i < 100; ++i) sockets_->notify(kKey, seconds(1), std::string(10'000, 'r'));
  sockets_->drain(kKey);
  Dialler worker(path_);
  ASSERT_TRUE(worker.say("{\"type\":\"progress\",\"step\":1}\n"));
  EXPECT_TRUE(news().progress);
}

TEST_F(WorkerSocketsTest, forgets_a_worker_with_its_socket) {
  Dialler worker(path_);
  ASSERT_TRUE(worker.connected());
  sockets_->forget(kKey);
  EXPECT_EQ(worker.hear(), "closed");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(WorkerSocketsTest, listens_again_after_a_restart) {
  sockets_.reset();
  EXPECT_FALSE(Dialler(path_).connected());
  sockets_ = MUST(WorkerSockets::open([] {}));
  ASSERT_TRUE(sockets_->listen(kKey, path_).ok());
  Dialler worker(path_);
  ASSERT_TRUE(worker.say("{\"type\":\"progress\",\"step\":1}\n"));
  EXPECT_TRUE(news().progress);
}

TEST_F(WorkerSocketsTest, says_why_it_cannot_listen) {
  const Done done = sockets_->listen(kKey, folder_ + "/" + std::string(200, 'x') + "/socket");
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("too long"));
}

TEST_F(WorkerSocketsTest, bounds_the_connections_of_one_worker) {
  std::vector<std::unique_ptr<Dialler>> crowd;
  for (int i = 0; i < 16; ++i) crowd.push_back(std::make_unique<Dialler>(path_));
  sockets_->drain(kKey);
  Dialler one_more(path_);
  EXPECT_EQ(one_more.hear(), "closed");
  EXPECT_TRUE(crowd.front()->say("{\"type\":\"progress\",\"step\":1}\n"));
  EXPECT_TRUE(news().progress);
}

}  // namespace
}  // namespace keiko::agent
