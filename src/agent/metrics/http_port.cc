#include "agent/metrics/http_port.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text.h"

namespace keiko::agent {
namespace {

constexpr size_t kMostHead = 8192;

const char* reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    default: return "Error";
  }
}

/// RETURNS: the value of a header by its lower-case name; empty if there is none.
std::string header_of(const std::string& head, const std::string& name) {
  for (const std::string& line : split(head, '\n')) {
    const size_t colon = line.find(':');
    if (colon != name.size()) continue;
    std::string key = line.substr(0, colon);
    std::transform(key.begin(), key.end(), key.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (key == name) return std::string(trim(line.substr(colon + 1)));
  }
  return {};
}

/// A page of another site that a browser on this machine shows could read metrics through a name of
/// its own that resolves to 127.0.0.1.
bool is_local_host(const std::string& host) {
  const std::string name = host.rfind('[', 0) == 0 ? host.substr(0, host.find(']') + 1)
                                                   : host.substr(0, host.find(':'));
  return name.empty() || name == "localhost" || name == "[::1]" || name.rfind("127.", 0) == 0;
}

int port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  }
  const uint32_t bits = ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
  return bits >> 24 == 127;
}

}  // namespace

Result<std::unique_ptr<HttpPort>> HttpPort::open(const HttpPortOptions& options, Handler handler) {
  std::unique_ptr<HttpPort> port(new HttpPort(options, std::move(handler)));
  TRY(port->listen());
  port->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (port->wake_ < 0) return errno_error("eventfd", errno);
  port->thread_ = std::thread([raw = port.get()] { raw->run(); });
  return port;
}

HttpPort::~HttpPort() {
  if (thread_.joinable()) {
    eventfd_write(wake_, 1);
    thread_.join();
  }
  for (const auto& [fd, client] : clients_) close(fd);
  if (listener_ >= 0) close(listener_);
  if (wake_ >= 0) close(wake_);
}

Done HttpPort::listen() {
  const std::string where = options_.address + " port " + std::to_string(options_.port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(options_.address.c_str(), std::to_string(options_.port).c_str(), &hints,
                  &found) != 0) {
    return invalid_argument("--metrics-listen " + options_.address +
                            ": not an address; use 127.0.0.1, 0.0.0.0 or one of this machine");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
  listener_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return errno_error("socket", errno);
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener_, found->ai_addr, found->ai_addrlen) != 0 || ::listen(listener_, 64) != 0) {
    if (errno == EADDRINUSE) {
      return already_exists("--metrics-port: " + where +
                            " is in use; choose another, or 0 for any that is free");
    }
    return errno_error("--metrics-port: listen on " + where, errno);
  }
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &size);
  port_ = port_of(own);
  loopback_ = is_loopback(own);
  return done();
}

void HttpPort::run() {
  for (;;) {
    std::vector<pollfd> fds = {{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const auto& [fd, client] : clients_) {
      fds.push_back({fd, static_cast<short>(client.output.empty() ? POLLIN : POLLOUT), 0});
    }
    // Only somebody who is here can be late.
    poll(fds.data(), fds.size(), clients_.empty() ? -1 : 500);
    if (fds[0].revents != 0) return;
    const auto now = Steady::now();
    for (size_t i = 2; i < fds.size(); ++i) {
      const auto client = clients_.find(fds[i].fd);
      const bool stays = now < client->second.until &&
                         (fds[i].revents == 0 || serve(fds[i].fd, client->second, fds[i].revents));
      if (stays) continue;
      close(fds[i].fd);
      clients_.erase(client);
    }
    if (fds[1].revents != 0) accept_clients();
  }
}

void HttpPort::accept_clients() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (clients_.size() >= options_.clients_most) {
      close(fd);
      continue;
    }
    clients_[fd].until = Steady::now() + std::chrono::nanoseconds(options_.patience.ns);
  }
}

/// RETURNS: whether the client stays.
bool HttpPort::serve(int fd, Client& client, short events) {
  if (client.output.empty()) {
    if (!receive(fd, client)) return false;
    if (client.output.empty()) return true;
  } else if ((events & (POLLERR | POLLHUP)) != 0) {
    return false;
  }
  const ssize_t sent = send(fd, client.output.data(), client.output.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  client.output.erase(0, static_cast<size_t>(sent));
  if (!client.output.empty()) return true;
  shutdown(fd, SHUT_WR);
  return false;
}

/// Takes what has come, and answers once the head is complete. RETURNS: false if the client left.
bool HttpPort::receive(int fd, Client& client) {
  char buffer[4096];
  const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
  if (got == 0) return false;
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  client.input.append(buffer, static_cast<size_t>(got));
  const size_t end = client.input.find("\r\n\r\n");
  if (end == std::string::npos && client.input.size() <= kMostHead) return true;
  client.output = answer(end == std::string::npos ? "" : client.input.substr(0, end));
  return true;
}

std::string HttpPort::answer(const std::string& head) const {
  const HttpReply reply = reply_to(head);
  std::string out = "HTTP/1.1 " + std::to_string(reply.status) + " " + reason_of(reply.status) +
                    "\r\nContent-Type: " + reply.content_type +
                    "\r\nContent-Length: " + std::to_string(reply.body.size()) +
                    (reply.status == 405 ? "\r\nAllow: GET, HEAD" : "") +
                    "\r\nConnection: close\r\n\r\n";
  return head.rfind("HEAD ", 0) == 0 ? out : out + reply.body;
}

HttpReply HttpPort::reply_to(const std::string& head) const {
  const std::vector<std::string> words = split(head.substr(0, head.find("\r\n")), ' ');
  if (words.size() != 3 || words[2].rfind("HTTP/1.", 0) != 0 || words[1].rfind('/', 0) != 0) {
    return {400, "text/plain", "expected: GET /metrics HTTP/1.1, 8 KiB of headers at most\n"};
  }
  if (words[0] != "GET" && words[0] != "HEAD") {
    return {405, "text/plain", "this port answers GET and HEAD\n"};
  }
  if (loopback_ && !is_local_host(header_of(head, "host"))) {
    return {403, "text/plain",
            "this agent listens on this machine only; the Host header must be localhost\n"};
  }
  return handler_(words[1]);
}

}  // namespace keiko::agent
