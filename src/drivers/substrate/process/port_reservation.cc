#include "drivers/substrate/process/port_reservation.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace keiko::process {
namespace {

/// RETURNS: false only if somebody has the port; a machine without this family has no say.
bool can_bind(int family, const sockaddr* address, socklen_t size) {
  const Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return true;
  if (family == AF_INET6) {
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  return bind(fd.get(), address, size) == 0 || errno != EADDRINUSE;
}

}  // namespace

bool is_port_free(int32_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<uint16_t>(port));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<uint16_t>(port));
  return can_bind(AF_INET, reinterpret_cast<const sockaddr*>(&v4), sizeof v4) &&
         can_bind(AF_INET6, reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
}

PortRange outside_ephemeral(PortRange wanted, const std::string& ephemeral) {
  int low = 0;
  int high = 0;
  if (std::sscanf(ephemeral.c_str(), "%d %d", &low, &high) != 2) return wanted;
  const PortRange below{wanted.first, wanted.last < low ? wanted.last : low - 1};
  const PortRange above{wanted.first > high ? wanted.first : high + 1, wanted.last};
  const int32_t below_size = below.last - below.first;
  const int32_t above_size = above.last - above.first;
  if (below_size < 0 && above_size < 0) return wanted;
  return below_size >= above_size ? below : above;
}

Result<PortLock> reserve_free_port(const std::string& dir, PortRange range, uint64_t seed) {
  TRY(make_folders(dir));
  const auto size = static_cast<uint64_t>(range.last - range.first + 1);
  for (uint64_t i = 0; i < size; ++i) {
    const auto port = static_cast<int32_t>(static_cast<uint64_t>(range.first) + (seed + i) % size);
    const std::string path = dir + "/" + std::to_string(port);
    Fd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock) return errno_error("cannot reserve a port in " + path, errno);
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    if (is_port_free(port)) return PortLock{port, std::move(lock)};
  }
  return resource_exhausted("every port from " + std::to_string(range.first) + " to " +
                            std::to_string(range.last) +
                            " of this machine is taken; widen the agent's port range");
}

}  // namespace keiko::process
