// A raw HTTP client for tests: it says what the test wants it to, well-formed or not.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

namespace keiko::server {

using Json = nlohmann::json;

/// A raw connection: what it says is up to the test.
class Socket {
 public:
  explicit Socket(const std::string& address) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in target{};
    target.sin_family = AF_INET;
    target.sin_port =
        htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
    target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval limit{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&target), sizeof target), 0);
  }
  ~Socket() { close(fd_); }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // the server may have hung up on purpose
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  /// RETURNS: everything up to `end`, or to the end of the stream if it never comes.
  std::string read_until(const std::string& end) {
    char piece[4096];
    while (end.empty() || text_.find(end) == std::string::npos) {
      const ssize_t got = recv(fd_, piece, sizeof piece, 0);
      if (got <= 0) break;
      text_.append(piece, static_cast<size_t>(got));
    }
    return text_;
  }
  std::string read_all() { return read_until(""); }
  void forget() { text_.clear(); }

 private:
  int fd_ = -1;
  std::string text_;
};

struct Reply {
  int status = 0;
  std::string head;
  std::string body;
  Json json() const { return Json::parse(body, nullptr, false); }
};

inline Reply parse(const std::string& text) {
  Reply reply;
  const size_t end = text.find("\r\n\r\n");
  if (text.size() > 12) reply.status = std::atoi(text.c_str() + 9);
  reply.head = text.substr(0, end);
  if (end != std::string::npos) reply.body = text.substr(end + 4);
  return reply;
}

/// RETURNS: the body of a GET.
inline std::string http_get(const std::string& address, const std::string& target) {
  Socket socket(address);
  socket.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  return parse(socket.read_all()).body;
}

}  // namespace keiko::server
