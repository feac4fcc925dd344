#include "drivers/substrate/process/visit/link_visit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "drivers/substrate/process/files.h"
#include "drivers/substrate/process/proc.h"

namespace keiko::process {
namespace {

constexpr int kConnectMs = 10'000;

class LinkVisit : public Visit {
 public:
  LinkVisit(Fd socket, Fd worker) : socket_(std::move(socket)), worker_(std::move(worker)) {}

  int in() const override { return socket_.get(); }
  int out() const override { return socket_.get(); }
  int err() const override { return -1; }
  void close_in() override { shutdown(socket_.get(), SHUT_WR); }
  void resize(TerminalSize) override {}
  void signal(int) override {}
  int news() const override { return worker_.get(); }

  std::optional<VisitEnd> end() override {
    pollfd wait{worker_.get(), POLLIN, 0};
    if (poll(&wait, 1, 0) <= 0) return std::nullopt;
    VisitEnd end;
    end.error = failed_precondition("the worker has ended");
    return end;
  }

 private:
  const Fd socket_;
  const Fd worker_;  ///< pidfd of the worker's program
};

/// RETURNS: a pidfd of the worker's program, its pid in `pid`.
Result<Fd> find_worker(const std::string& folder, int64_t& pid) {
  const auto running = read_record<RunningRecord>(folder + "/running");
  if (running.ok() && !exists(folder + "/end")) {
    pid = running->program.pid;
    // The pidfd first: what is alive afterwards is what it stands for.
    Fd worker(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
    if (worker && is_alive(running->program)) return worker;
  }
  return failed_precondition("the worker does not run on this node (any more)");
}

/// RETURNS: a socket that is connected, or none with errno set.
Fd dial(const sockaddr* address, socklen_t size) {
  Fd socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return socket;
  if (connect(socket.get(), address, size) != 0) {
    pollfd wait{socket.get(), POLLOUT, 0};
    int error = errno;
    if (error == EINPROGRESS) {
      socklen_t length = sizeof error;
      if (poll(&wait, 1, kConnectMs) != 1) error = ETIMEDOUT;
      else getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
    if (error != 0) {
      socket.reset();
      errno = error;
      return socket;
    }
  }
  const int one = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return socket;
}

Result<Fd> dial_loopback(int port) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(static_cast<uint16_t>(port));
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Fd socket = dial(reinterpret_cast<const sockaddr*>(&four), sizeof four);
  if (socket) return socket;
  const int error = errno;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = four.sin_port;
  six.sin6_addr = in6addr_loopback;
  socket = dial(reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (socket) return socket;
  if (error == ECONNREFUSED) {
    return unavailable("nothing listens on port " + std::to_string(port) +
                       " of the worker's loopback (127.0.0.1 and ::1)");
  }
  return unavailable("port " + std::to_string(port) + " of the worker's loopback: " +
                     std::strerror(error));
}

/// A socket stays in the network namespace in which it was made, so a thread that enters the
/// worker's and ends is all it takes.
Result<Fd> dial_in_worker(int64_t pid, int port) {
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/net";
  struct stat theirs{};
  struct stat ours{};
  if (stat(path.c_str(), &theirs) != 0 || stat("/proc/self/ns/net", &ours) != 0 ||
      (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev)) {
    return dial_loopback(port);
  }
  const Fd space(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Result<Fd> socket = unavailable("");
  std::thread([&] {
    const bool entered = space && setns(space.get(), CLONE_NEWNET) == 0;
    socket = entered ? dial_loopback(port)
                     : Result<Fd>(unavailable("cannot enter the worker's network namespace: " +
                                              std::string(std::strerror(errno))));
  }).join();
  return socket;
}

}  // namespace

Result<std::unique_ptr<Visit>> make_link_visit(const std::string& folder, int port) {
  int64_t pid = 0;
  Fd worker = TRY(find_worker(folder, pid));
  Fd socket;
  if (port != 0) socket = TRY(dial_in_worker(pid, port));
  return std::unique_ptr<Visit>(
      std::make_unique<LinkVisit>(std::move(socket), std::move(worker)));
}

}  // namespace keiko::process
