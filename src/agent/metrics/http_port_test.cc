#include "agent/metrics/http_port.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/metrics/pages.h"

namespace keiko::agent {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

int dial(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

std::string read_all(int fd) {
  std::string got;
  char buffer[65536];
  for (ssize_t n = 0; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;) {
    got.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return got;
}

std::string ask(int port, const std::string& request) {
  const int fd = dial(port);
  EXPECT_GT(send(fd, request.data(), request.size(), MSG_NOSIGNAL), 0);
  return read_all(fd);
}

std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

class HttpPortTest : public testing::Test {
 protected:
  void open(HttpPortOptions options = {}) {
    port_ = MUST(HttpPort::open(options, [](const std::string& target) {
      return HttpReply{200, "text/plain", target == "/big" ? std::string(5'000'000, 'x') : target};
    }));
  }
  std::unique_ptr<HttpPort> port_;
};

TEST_F(HttpPortTest, answers_a_get_and_a_head) {
  open();
  const std::string answer = ask(port_->port(), "GET /a?b=c HTTP/1.1\r\nHost: localhost:9\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(body_of(answer), "/a?b=c");
  const std::string head = ask(port_->port(), "HEAD /abc HTTP/1.1\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_EQ(body_of(head), "");
}

TEST_F(HttpPortTest, takes_a_request_that_comes_in_pieces_and_gives_a_big_answer_whole) {
  open();
  const int fd = dial(port_->port());
  for (const std::string piece : {"GET /b", "ig HTTP/1.1\r", "\n\r", "\n"}) {
    ASSERT_GT(send(fd, piece.data(), piece.size(), MSG_NOSIGNAL), 0);
    usleep(2000);  // so that pieces arrive as pieces, most times
  }
  EXPECT_EQ(body_of(read_all(fd)).size(), 5'000'000u);
}

TEST_F(HttpPortTest, refuses_what_is_no_request_for_a_page) {
  open();
  EXPECT_THAT(ask(port_->port(), "POST /metrics HTTP/1.1\r\n\r\n"), HasSubstr(" 405 "));
  EXPECT_THAT(ask(port_->port(), "what is this\r\n\r\n"), HasSubstr(" 400 "));
  EXPECT_THAT(ask(port_->port(), "GET /" + std::string(9000, 'x')), HasSubstr(" 400 "));
}

TEST_F(HttpPortTest, refuses_pages_of_other_sites_on_loopback) {
  open();
  EXPECT_THAT(ask(port_->port(), "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
              HasSubstr(" 403 "));
  for (const char* const host : {"127.0.0.1:8", "LOCALHOST", "[::1]:4"}) {
    const std::string name = host == std::string("LOCALHOST") ? "localhost" : host;
    EXPECT_THAT(ask(port_->port(), "GET / HTTP/1.1\r\nhOST:  " + name + "\r\n\r\n"),
                HasSubstr(" 200 "));
  }
}

TEST_F(HttpPortTest, drops_who_is_slow_and_closes_its_door_when_it_is_crowded) {
  HttpPortOptions options;
  options.clients_most = 2;
  options.patience = milliseconds(300);
  open(options);
  const int first = dial(port_->port());
  const int second = dial(port_->port());
  EXPECT_EQ(read_all(dial(port_->port())), "") << "it is full";
  EXPECT_EQ(read_all(first), "") << "it never asked";
  EXPECT_EQ(read_all(second), "");
  EXPECT_THAT(ask(port_->port(), "GET / HTTP/1.1\r\n\r\n"), HasSubstr(" 200 "));
}

TEST_F(HttpPortTest, says_which_port_is_taken_and_what_to_do) {
  open();
  HttpPortOptions options;
  options.port = port_->port();
  const auto second = HttpPort::open(options, {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_THAT(second.error().message, HasSubstr("--metrics-port"));
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(options.port)));
  options.address = "nowhere";
  EXPECT_FALSE(HttpPort::open(options, {}).ok());
}

TEST(Pages, give_the_past_in_seconds_of_the_wall_clock) {
  telemetry::Past past;
  past.row = telemetry::find_metric(SubjectKind::kDevice, "power_watts");
  past.subject = {SubjectKind::kDevice, "GPU-1"};
  past.fine = {{Time{} + seconds(100), 300, 300}, {Time{} + seconds(102), 310, 310}};
  past.coarse = {{Time{} + seconds(100), 305, 310}};
  PageSources sources;
  sources.now = [] { return Time{} + seconds(102); };
  sources.wall = [] { return WallTime{seconds(1'800'000'002).ns}; };
  sources.past = [&](const std::string& name, const std::string& id) {
    EXPECT_EQ(name, "keiko_device_power_watts");
    return id == "GPU 1" ? std::vector<telemetry::Past>{past} : std::vector<telemetry::Past>{};
  };
  const HttpReply reply = page_of("/history?name=keiko_device_power_watts&id=GPU%201", sources);
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("\"fine\":[[1800000000,300.0],[1800000002,310.0]]"));
  EXPECT_THAT(reply.body, HasSubstr("\"coarse\":[[1800000000,305.0,310.0]]"));
  EXPECT_EQ(page_of("/history?name=keiko_device_power_watts", sources).status, 404);
  EXPECT_EQ(page_of("/history", sources).status, 400);
  EXPECT_EQ(page_of("/secrets", sources).status, 404);
  EXPECT_THAT(page_of("/", sources).body, HasSubstr("/metrics"));
}

}  // namespace
}  // namespace keiko::agent
