// HttpConnection: one client's socket: requests one after another, or one stream of events.
// Lives on the server's I/O thread. Only .cc files include this.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>

#include "server/http/http_gateway.h"
#include "server/options.h"

namespace keiko::server {

class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  virtual void start() = 0;
  virtual void close() = 0;

  static std::shared_ptr<HttpConnection> make(boost::asio::ip::tcp::socket socket,
                                              HttpGateway& gateway, const HttpOptions& options);
};

}  // namespace keiko::server
