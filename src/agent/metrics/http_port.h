// HttpPort: answers GET requests on a port of its own, for scrapers: one request a connection, no
// bodies, no TLS. A thread of its own does all I/O and waits for nobody; whoever is slow, sends too
// much or comes when it is crowded loses the connection and nothing else.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "agent/metrics/options.h"
#include "base/result.h"

namespace keiko::agent {

struct HttpReply {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpPort {
 public:
  /// Given the request's target, "/metrics?x=y". Called from the port's thread; must not block.
  using Handler = std::function<HttpReply(const std::string& target)>;

  /// RETURNS: kAlreadyExists if somebody has the port, kInvalidArgument for an address that is not
  /// this machine's.
  static Result<std::unique_ptr<HttpPort>> open(const HttpPortOptions& options, Handler handler);
  ~HttpPort();
  HttpPort(const HttpPort&) = delete;
  HttpPort& operator=(const HttpPort&) = delete;

  int port() const { return port_; }

 private:
  using Steady = std::chrono::steady_clock;
  struct Client {
    std::string input;
    std::string output;  ///< what is left to send, once the request is complete
    Steady::time_point until;
  };

  HttpPort(const HttpPortOptions& options, Handler handler)
      : options_(options), handler_(std::move(handler)) {}
  Done listen();
  void run();
  void accept_clients();
  bool serve(int fd, Client& client, short events);
  bool receive(int fd, Client& client);
  std::string answer(const std::string& head) const;
  HttpReply reply_to(const std::string& head) const;

  const HttpPortOptions options_;
  const Handler handler_;
  int listener_ = -1;
  int wake_ = -1;  ///< an eventfd that ends the thread
  int port_ = 0;
  bool loopback_ = false;
  std::map<int, Client> clients_;  ///< by descriptor
  std::thread thread_;
};

}  // namespace keiko::agent
