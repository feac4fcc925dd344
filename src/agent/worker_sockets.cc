#include "agent/worker_sockets.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/log.h"

namespace keiko::agent {
namespace {

/// A program may fork readers and loggers; more than this many at once is a leak of its own.
constexpr size_t kMaxConnections = 16;
/// Notices are small: a worker that leaves this much unread does not read at all.
constexpr size_t kMaxOutputBytes = 64 * 1024;
constexpr size_t kReadBytes = 16 * 1024;
/// A worker that has ended says nothing more; a child of it that does is not read for ever.
constexpr int kMaxDrainReads = 64;
constexpr std::chrono::seconds kDrainPatience{1};

Result<int> listening_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return invalid_argument("the socket's path is too long: " + path);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  if (failed) return errno_error("cannot make the folder of " + path, failed.value());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno_error("cannot make a socket for " + path, errno);
  unlink(path.c_str());
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd, 64) != 0) {
    const int why = errno;
    close(fd);
    return errno_error("cannot listen at " + path, why);
  }
  return fd;
}

bool is_for_later(int error_number) {
  return error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
}

}  // namespace

Result<std::unique_ptr<WorkerSockets>> WorkerSockets::open(std::function<void()> on_news) {
  std::unique_ptr<WorkerSockets> sockets(new WorkerSockets(std::move(on_news)));
  sockets->epoll_ = epoll_create1(EPOLL_CLOEXEC);
  sockets->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (sockets->epoll_ < 0 || sockets->wake_ < 0) {
    return errno_error("cannot make descriptors for the workers' sockets", errno);
  }
  sockets->watch(sockets->wake_, 0, EPOLLIN, EPOLL_CTL_ADD);
  sockets->thread_ = std::thread([raw = sockets.get()] { raw->run(); });
  return sockets;
}

WorkerSockets::~WorkerSockets() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    eventfd_write(wake_, 1);
    thread_.join();
  }
  // Paths stay: the next agent listens there again, and what belongs to a worker goes with it.
  for (const auto& [number, listener] : listeners_) close(listener.fd);
  for (const auto& [number, connection] : connections_) close(connection.fd);
  if (epoll_ >= 0) close(epoll_);
  if (wake_ >= 0) close(wake_);
}

// ---- from any thread ----

Done WorkerSockets::listen(const WorkerKey& key, const std::string& path) {
  // Not within the braces: gcc 12 does not destroy what they hold already when TRY returns.
  const int fd = TRY(listening_socket(path));
  post(Listener{key, path, fd});
  return done();
}

void WorkerSockets::forget(const WorkerKey& key) { post(Forget{key}); }

void WorkerSockets::notify(const WorkerKey& key, Duration deadline, const std::string& reason) {
  Notify order{key, 0, Steady::now() + std::chrono::nanoseconds(deadline.ns), reason};
  {
    const std::lock_guard lock(mutex_);
    order.id = next_notice_++;
  }
  post(std::move(order));
}

void WorkerSockets::drain(const WorkerKey& key) {
  const uint64_t place = post(Drain{key});
  std::unique_lock lock(mutex_);
  obeyed_.wait_for(lock, kDrainPatience, [&] { return obeyed_count_ >= place; });
}

std::vector<WorkerNews> WorkerSockets::take() {
  std::map<WorkerKey, WorkerNews> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(news_);
  }
  std::vector<WorkerNews> result;
  for (auto& [key, news] : taken) result.push_back(std::move(news));
  return result;
}

uint64_t WorkerSockets::post(Order order) {
  uint64_t place = 0;
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
    place = ++posted_count_;
  }
  eventfd_write(wake_, 1);
  return place;
}

// ---- the thread ----

void WorkerSockets::run() {
  std::vector<epoll_event> events(64);
  while (obey_orders()) {
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      serve(event.data.u64, event.events);
    }
  }
}

/// RETURNS: false once the thread is to end; orders given before that are carried out.
bool WorkerSockets::obey_orders() {
  std::deque<Order> orders;
  bool stopping = false;
  {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
    stopping = stopping_;
  }
  for (Order& order : orders) {
    std::visit([this](auto& body) { obey(body); }, order);
  }
  if (!orders.empty()) {
    const std::lock_guard lock(mutex_);
    obeyed_count_ += orders.size();
    obeyed_.notify_all();
  }
  return !stopping;
}

void WorkerSockets::obey(Listener& order) {
  const uint64_t number = next_number_++;
  watch(order.fd, number, EPOLLIN, EPOLL_CTL_ADD);
  listeners_[number] = std::move(order);
}

void WorkerSockets::obey(const Forget& order) {
  for (auto at = listeners_.begin(); at != listeners_.end();) {
    if (at->second.key != order.key) {
      ++at;
      continue;
    }
    close(at->second.fd);
    unlink(at->second.path.c_str());
    at = listeners_.erase(at);
  }
  for (auto at = connections_.begin(); at != connections_.end();) {
    const auto next = std::next(at);
    if (at->second.key == order.key) drop(at->first, "");
    at = next;
  }
  notices_.erase(order.key);
  const std::lock_guard lock(mutex_);
  news_.erase(order.key);
}

void WorkerSockets::obey(const Notify& order) {
  notices_[order.key] = order;
  std::vector<uint64_t> numbers;
  for (const auto& [number, connection] : connections_) {
    if (connection.key == order.key) numbers.push_back(number);
  }
  for (const uint64_t number : numbers) {
    Connection& connection = connections_.at(number);
    send_notice(connection, order);
    if (!flush(number, connection)) drop(number, "it does not read what it is sent");
  }
}

void WorkerSockets::obey(const Drain& order) {
  for (const auto& [number, listener] : listeners_) {
    while (listener.key == order.key && accept_from(listener)) {
    }
  }
  std::vector<uint64_t> over;
  for (auto& [number, connection] : connections_) {
    if (connection.key != order.key) continue;
    Heard heard = Heard::kSome;
    for (int reads = 0; heard == Heard::kSome && reads < kMaxDrainReads; ++reads) {
      heard = receive(connection);
    }
    if (heard == Heard::kOver) over.push_back(number);
  }
  for (const uint64_t number : over) drop(number, "");
}

void WorkerSockets::serve(uint64_t number, uint32_t events) {
  if (number == 0) {
    eventfd_t count = 0;
    eventfd_read(wake_, &count);
    return;
  }
  if (const auto listener = listeners_.find(number); listener != listeners_.end()) {
    accept_from(listener->second);
    return;
  }
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if ((events & EPOLLOUT) != 0 && !flush(number, connection)) return drop(number, "");
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  if (receive(connection) == Heard::kOver) drop(number, "");
}

bool WorkerSockets::accept_from(const Listener& listener) {
  const int fd = accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Out of descriptors: the dialling worker waits in the queue, and so do we, without spinning.
    if (!is_for_later(errno)) usleep(10'000);
    return false;
  }
  if (connection_count(listener.key) >= kMaxConnections) {
    log_warn("worker_socket_refused", "worker=" + to_text(listener.key) + " why=" +
                                          quote_text("it has " + std::to_string(kMaxConnections) +
                                                     " connections already"));
    close(fd);
    return true;
  }
  const uint64_t number = next_number_++;
  Connection& connection = connections_[number];
  connection.key = listener.key;
  connection.fd = fd;
  watch(fd, number, EPOLLIN, EPOLL_CTL_ADD);
  const auto notice = notices_.find(listener.key);
  if (notice == notices_.end()) return true;
  send_notice(connection, notice->second);
  if (!flush(number, connection)) drop(number, "");
  return true;
}

WorkerSockets::Heard WorkerSockets::receive(Connection& connection) {
  char buffer[kReadBytes];
  const ssize_t got = recv(connection.fd, buffer, sizeof buffer, 0);
  if (got < 0) return is_for_later(errno) ? Heard::kNothing : Heard::kOver;
  if (got == 0) return Heard::kOver;
  connection.input.append(buffer, static_cast<size_t>(got));
  size_t begin = 0;
  for (size_t end = 0; (end = connection.input.find('\n', begin)) != std::string::npos;) {
    if (!handle(connection, std::string_view(connection.input).substr(begin, end - begin))) {
      return Heard::kOver;
    }
    begin = end + 1;
  }
  connection.input.erase(0, begin);
  // Longer than any line may be: handle() says so.
  if (connection.input.size() > kMaxLineBytes) handle(connection, connection.input);
  return connection.input.size() > kMaxLineBytes ? Heard::kOver : Heard::kSome;
}

/// RETURNS: false if the line breaks the rules.
bool WorkerSockets::handle(const Connection& connection, std::string_view line) {
  const Result<WorkerLine> parsed = parse_worker_line(line);
  if (parsed.ok()) {
    keep(connection.key, *parsed);
    return true;
  }
  log_warn("worker_line_refused", "worker=" + to_text(connection.key) + " why=" +
                                      quote_text(parsed.error().message) +
                                      " effect=\"its connection is closed\"");
  return false;
}

void WorkerSockets::keep(const WorkerKey& key, const WorkerLine& line) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (std::holds_alternative<WorkerHello>(line) || std::holds_alternative<UnknownLine>(line)) {
      return;
    }
    first = news_.empty();
    WorkerNews& news = news_[key];
    news.key = key;
    if (const auto* progress = std::get_if<Progress>(&line)) news.progress = *progress;
    if (const auto* mark = std::get_if<CheckpointMark>(&line)) {
      if (!news.checkpoint || mark->step >= news.checkpoint->step) news.checkpoint = *mark;
    }
    if (const auto* ack = std::get_if<WorkerAck>(&line)) news.ack = ack->id;
  }
  if (first) on_news_();
}

void WorkerSockets::send_notice(Connection& connection, const Notify& notice) {
  const auto pause = notice.until - Steady::now();
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(pause);
  connection.output += to_line(
      {notice.id, nanoseconds(std::max<int64_t>(left.count(), 0)), notice.reason});
}

/// RETURNS: false if the connection is over, or its other end leaves too much unread.
bool WorkerSockets::flush(uint64_t number, Connection& connection) {
  while (!connection.output.empty()) {
    const ssize_t sent = send(connection.fd, connection.output.data(), connection.output.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && !is_for_later(errno)) return false;
    if (sent < 0) break;
    connection.output.erase(0, static_cast<size_t>(sent));
  }
  const uint32_t events = connection.output.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  watch(connection.fd, number, events, EPOLL_CTL_MOD);
  return connection.output.size() <= kMaxOutputBytes;
}

void WorkerSockets::drop(uint64_t number, std::string_view why) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  if (!why.empty()) {
    log_warn("worker_socket_closed",
             "worker=" + to_text(found->second.key) + " why=" + quote_text(why));
  }
  close(found->second.fd);
  connections_.erase(found);
}

size_t WorkerSockets::connection_count(const WorkerKey& key) const {
  return static_cast<size_t>(
      std::count_if(connections_.begin(), connections_.end(),
                    [&](const auto& entry) { return entry.second.key == key; }));
}

void WorkerSockets::watch(int fd, uint64_t number, uint32_t events, int operation) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  epoll_ctl(epoll_, operation, fd, &event);
}

}  // namespace keiko::agent
