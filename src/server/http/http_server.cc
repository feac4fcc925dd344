// The acceptor, and the thread that runs it and its connections.
#include "server/http/http_server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <thread>

#include "base/log.h"
#include "server/http/http_connection.h"
#include "server/listening.h"

namespace keiko::server {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using boost::system::error_code;

class RunningHttpServer : public HttpServer {
 public:
  RunningHttpServer(const ServerOptions& options, HttpGateway& gateway)
      : options_(options), gateway_(gateway), acceptor_(context_) {}

  ~RunningHttpServer() override { stop(); }

  Done start() {
    error_code problem;
    const auto address = asio::ip::make_address(options_.listen, problem);
    if (problem) return invalid_argument("--listen: '" + options_.listen + "' is not an address");
    const Tcp::endpoint endpoint(address, static_cast<uint16_t>(options_.http_port));
    acceptor_.open(endpoint.protocol(), problem);
    if (!problem) acceptor_.set_option(Tcp::acceptor::reuse_address(true), problem);
    if (!problem) acceptor_.bind(endpoint, problem);
    if (!problem) acceptor_.listen(asio::socket_base::max_listen_connections, problem);
    if (problem) {
      return unavailable("cannot listen on " + host_port(options_.listen, options_.http_port) +
                         ": " + problem.message() + "; choose another port with --http-port PORT");
    }
    port_ = acceptor_.local_endpoint().port();
    accept();
    thread_ = std::thread([this] { context_.run(); });
    return done();
  }

  int port() const override { return port_; }

  void stop() override {
    if (!thread_.joinable()) return;
    asio::post(context_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      for (const auto& weak : connections_) {
        if (const auto connection = weak.lock()) connection->close();
      }
      context_.stop();
    });
    thread_.join();
  }

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& problem, Tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (problem) {
        log_warn("http_accept_failed", "error=" + quote_text(problem.message()));
        return accept_later();
      }
      add(std::move(socket));
      accept();
    });
  }

  /// Out of descriptors, as a rule: some will be closed soon.
  void accept_later() {
    pause_.expires_after(std::chrono::milliseconds(100));
    pause_.async_wait([this](const error_code& problem) {
      if (!problem && acceptor_.is_open()) accept();
    });
  }

  void add(Tcp::socket socket) {
    std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
    if (connections_.size() >= options_.http.connection_limit) return;  // closes the socket
    auto connection = HttpConnection::make(std::move(socket), gateway_, options_.http);
    connections_.push_back(connection);
    connection->start();
  }

  const ServerOptions options_;
  HttpGateway& gateway_;
  asio::io_context context_{1};
  Tcp::acceptor acceptor_;
  asio::steady_timer pause_{context_};
  std::vector<std::weak_ptr<HttpConnection>> connections_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> start_http_server(const ServerOptions& options,
                                                      HttpGateway& gateway) {
  TRY(check_port_free(options.listen, options.http_port, "--http-port"));
  auto server = std::make_unique<RunningHttpServer>(options, gateway);
  TRY(server->start());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace keiko::server
