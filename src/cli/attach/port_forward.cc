#include "cli/attach/port_forward.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/exit_code.h"

namespace keiko::cli {
namespace {

constexpr int kBacklog = 128;
constexpr int kNoRoomWaitMs = 100;

/// One port that is listened on.
struct Listener {
  int fd = -1;
  int remote = 0;
  std::string name;   ///< "127.0.0.1:9000"
};

/// A connection from this machine and its call.
struct Link {
  int socket = -1;
  std::unique_ptr<AttachCall> call;
  std::unique_ptr<AttachClient> client;
  std::thread thread;
  bool over = false;
};

class PortForward {
 public:
  PortForward(const ForwardOrder& order, const SignalStream& signals, const Console& console)
      : order_(order), signals_(signals), console_(console),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~PortForward();

  Result<int> run();

 private:
  Done listen_on_all();
  Result<Listener> listen_on(const ForwardedPort& port);
  Result<int> serve();
  void accept_from(const Listener& listener);
  void pass(Link& link, int remote);
  void sweep();
  void wake();

  const ForwardOrder& order_;
  const SignalStream& signals_;
  const Console& console_;
  const int wake_;
  std::vector<Listener> listeners_;
  bool accepting_ = true;    ///< false: no descriptor is left, until one is

  std::mutex mutex_;         // guards what follows
  std::list<Link> links_;
  bool leaving_ = false;
  bool entered_ = false;
  std::optional<Error> ended_;
};

std::string text_of(const std::string& host, int port) {
  const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return shown + ":" + std::to_string(port);
}

int port_of(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

PortForward::~PortForward() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
    for (Link& link : links_) {
      if (link.client) link.client->leave();
      shutdown(link.socket, SHUT_RDWR);
    }
  }
  for (Link& link : links_) {
    link.thread.join();
    close(link.socket);
  }
  for (const Listener& listener : listeners_) close(listener.fd);
  close(wake_);
}

Result<Listener> PortForward::listen_on(const ForwardedPort& port) {
  const std::string wanted = text_of(order_.address, port.local);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(order_.address.c_str(), std::to_string(port.local).c_str(), &hints, &found) !=
      0) {
    return invalid_argument("'" + order_.address + "' is no address of this machine; give one such "
                            "as 127.0.0.1, 0.0.0.0 or ::1");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, kBacklog) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    return Error{Code::kFailedPrecondition,
                 errno_error("cannot listen on " + wanted, error).message +
                     "; choose another port, as in 0:" + std::to_string(port.remote), {}};
  }
  return Listener{fd, port.remote, text_of(order_.address, port_of(fd))};
}

Done PortForward::listen_on_all() {
  for (const ForwardedPort& port : order_.ports) listeners_.push_back(TRY(listen_on(port)));
  return done();
}

void PortForward::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

Result<int> PortForward::run() {
  TRY(listen_on_all());
  const std::unique_ptr<AttachCall> call = dial_client_attach(order_.server);
  AttachEnds ends{-1, -1, -1};
  ends.entered = [this] {
    const std::lock_guard lock(mutex_);
    entered_ = true;
    wake();
  };
  AttachClient presence(*call, ends);
  std::thread watcher([&] {
    v1::AttachOpen open = order_.worker;
    open.set_presence(true);
    const Result<int> end = presence.run(open);
    const std::lock_guard lock(mutex_);
    ended_ = end.ok() ? failed_precondition("the worker has ended") : end.error();
    wake();
  });
  const Result<int> served = serve();
  presence.leave();
  watcher.join();
  return served;
}

Result<int> PortForward::serve() {
  bool told = false;
  while (true) {
    std::vector<pollfd> waits = {{wake_, POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
    for (const Listener& listener : listeners_) {
      waits.push_back({told && accepting_ ? listener.fd : -1, POLLIN, 0});
    }
    poll(waits.data(), waits.size(), accepting_ ? -1 : kNoRoomWaitMs);
    accepting_ = true;
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(wake_, &count, sizeof count);
    while (const int number = signals_.next()) {
      if (number != SIGWINCH) return kExitCancelled;
    }
    bool entered = false;
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return *ended_;
      entered = entered_;
    }
    sweep();
    for (size_t i = 0; i < listeners_.size(); ++i) {
      if (entered && !told) {
        console_.line(listeners_[i].name + " -> port " + std::to_string(listeners_[i].remote) +
                      " of " + order_.worker.job() + " rank " +
                      std::to_string(order_.worker.rank()));
      }
      if (waits[i + 2].revents != 0) accept_from(listeners_[i]);
    }
    told = told || entered;
  }
}

void PortForward::accept_from(const Listener& listener) {
  const int socket = accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) {
    accepting_ = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    return;
  }
  const int one = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  const std::lock_guard lock(mutex_);
  Link& link = links_.emplace_back();
  link.socket = socket;
  link.thread = std::thread([this, &link, remote = listener.remote] { pass(link, remote); });
}

void PortForward::pass(Link& link, int remote) {
  auto call = dial_client_attach(order_.server);
  auto client = std::make_unique<AttachClient>(*call, [&] {
    AttachEnds ends{link.socket, link.socket, -1};
    ends.socket = true;
    return ends;
  }());
  {
    const std::lock_guard lock(mutex_);
    link.call = std::move(call);
    link.client = std::move(client);
    if (leaving_) link.client->leave();
  }
  v1::AttachOpen open = order_.worker;
  open.set_port(remote);
  const Result<int> end = link.client->run(open);
  if (!end.ok()) {
    // As the worker's side would: who is cut off must not take it for the end of the data.
    const linger at_once{1, 0};
    setsockopt(link.socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  const std::lock_guard lock(mutex_);
  const bool quiet = end.ok() || leaving_ || end.error().code == Code::kCancelled ||
                     end.error().code == Code::kAborted;
  if (!quiet) {
    console_.hint("keiko port-forward: port " + std::to_string(remote) + ": " +
                  end.error().message);
  }
  link.over = true;
  wake();
}

void PortForward::sweep() {
  const std::lock_guard lock(mutex_);
  for (auto link = links_.begin(); link != links_.end();) {
    if (!link->over) {
      ++link;
      continue;
    }
    link->thread.join();  // its last line is behind it
    close(link->socket);
    link = links_.erase(link);
  }
}

bool read_port(std::string_view text, int least, int& port) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, port);
  return read.ec == std::errc() && read.ptr == end && port >= least && port <= 65535;
}

}  // namespace

Result<ForwardedPort> parse_forward(const std::string& text) {
  const size_t colon = text.find(':');
  ForwardedPort port;
  const std::string_view whole = text;
  const bool fits = colon == std::string::npos
                        ? read_port(whole, 1, port.remote)
                        : read_port(whole.substr(0, colon), 0, port.local) &&
                              read_port(whole.substr(colon + 1), 1, port.remote);
  if (!fits) {
    return invalid_argument("'" + text + "' is no port; write 8888, 9000:8888 (local:remote) or "
                            "0:8888 (any local port that is free)");
  }
  if (colon == std::string::npos) port.local = port.remote;
  return port;
}

Result<int> forward_ports(const ForwardOrder& order, const SignalStream& signals,
                          const Console& console) {
  return PortForward(order, signals, console).run();
}

}  // namespace keiko::cli
