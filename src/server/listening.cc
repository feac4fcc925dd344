// A plain bind() tells the reason of a failure, which gRPC only logs.
#include "server/listening.h"

#include <arpa/inet.h>
#include <cerrno>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

namespace keiko::server {
namespace {

Error taken(const std::string& where, int port, const std::string& flag) {
  return already_exists(
      "port " + std::to_string(port) + " (" + where +
      ") is in use, perhaps by another keiko server or a `keiko up` that still runs; "
      "`ss -ltnp sport = :" +
      std::to_string(port) + "` shows who holds it, and " + flag + " PORT chooses another");
}

Done try_bind(const addrinfo& target, const std::string& where, int port, const std::string& flag) {
  const int fd = socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno_error("socket", errno);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool bound = bind(fd, target.ai_addr, target.ai_addrlen) == 0;
  const int why = errno;
  close(fd);
  if (bound) return done();
  if (why == EADDRINUSE) return taken(where, port, flag);
  if (why == EACCES) {
    return Error{Code::kPermissionDenied,
                 "port " + std::to_string(port) + " needs privileges; choose one above 1023 with " +
                     flag + " PORT", flag};
  }
  return errno_error("listen on " + where, why);
}

}  // namespace

std::string host_port(const std::string& address, int port) {
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? '[' + address + ']' : address) + ':' + std::to_string(port);
}

Done check_port_free(const std::string& address, int port, const std::string& flag) {
  if (port < 0 || port > 65535) {
    return invalid_argument(flag + ": " + std::to_string(port) + " is no port; use 0 to 65535",
                            flag);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return invalid_argument(
        "--listen: '" + address +
            "' is not an address; use 127.0.0.1, 0.0.0.0 or one of this machine",
        "--listen");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
  return try_bind(*list, host_port(address, port), port, flag);
}

}  // namespace keiko::server
