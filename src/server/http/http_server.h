// HttpServer: the gateway's sockets, on one I/O thread of its own.
#pragma once

#include <memory>

#include "server/http/http_gateway.h"
#include "server/options.h"

namespace keiko::server {

class HttpServer {
 public:
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  /// Closes every connection and ends the thread. Idempotent.
  virtual void stop() = 0;
};

/// RETURNS: kAlreadyExists if the port is taken, naming it, who might hold it and the flag.
Result<std::unique_ptr<HttpServer>> start_http_server(const ServerOptions& options,
                                                      HttpGateway& gateway);

}  // namespace keiko::server
