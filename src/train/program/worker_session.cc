#include "train/program/worker_session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/text.h"

namespace keiko::train {
namespace {

using nlohmann::json;
constexpr int kProtocol = 1;
// An agent that does not read must not grow us; a line longer than the second is not ours.
constexpr size_t kOutboxLines = 256;
constexpr size_t kLongestLine = 1 << 16;

/// JSON has no NaN; null is what a reader expects in its place.
json number_or_null(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

}  // namespace

WorkerSession::WorkerSession(const SessionOptions& options) : options_(options) {
  if (options_.socket_path.empty()) return;
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { run(); });
}

WorkerSession::~WorkerSession() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(wake_fd_, &one, sizeof(one));
    thread_.join();
  }
  if (wake_fd_ >= 0) close(wake_fd_);
}

void WorkerSession::progress(const ProgressReport& report) {
  post(json{{"type", "progress"},
            {"step", report.step},
            {"total_steps", report.total_steps},
            {"loss", number_or_null(report.loss)},
            {"samples", report.samples},
            {"tokens", report.tokens},
            {"tokens_per_s", number_or_null(report.tokens_per_s)}}
           .dump(),
       true);
}

void WorkerSession::checkpoint(int64_t step, const std::string& ref) {
  post(json{{"type", "checkpoint"}, {"step", step}, {"ref", ref}}.dump(), false);
}

void WorkerSession::ack(int64_t id) { post(json{{"type", "ack"}, {"id", id}}.dump(), false); }

std::optional<SessionNotice> WorkerSession::notice() const {
  const std::lock_guard lock(mutex_);
  return notice_;
}

bool WorkerSession::flush(Duration limit) {
  if (options_.socket_path.empty()) return true;
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::nanoseconds(limit.ns),
                           [this] { return outbox_.empty() && connected_; });
}

void WorkerSession::post(std::string line, bool may_drop) {
  if (options_.socket_path.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (may_drop && (!connected_ || outbox_.size() >= kOutboxLines)) return;
    outbox_.push_back(std::move(line) + "\n");
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_fd_, &one, sizeof(one));
}

int WorkerSession::dial() const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options_.socket_path.size() >= sizeof(address.sun_path)) return -1;
  options_.socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

void WorkerSession::run() {
  bool told = false;
  while (true) {
    const int fd = dial();
    if (fd < 0 && !told) {
      told = true;
      log_warn("agent_socket_unreachable", "path=" + options_.socket_path +
                                               " effect=" + quote_text("training goes on"));
    }
    if (fd >= 0) {
      told = false;
      converse(fd);
      close(fd);
    }
    std::unique_lock lock(mutex_);
    connected_ = false;
    const auto pause = std::chrono::nanoseconds(options_.redial.ns);
    if (changed_.wait_for(lock, pause, [this] { return stopping_; })) return;
  }
}

void WorkerSession::converse(int fd) {
  {
    const std::lock_guard lock(mutex_);
    // A line that was cut off by the last connection's end is sent again from its start.
    sent_of_front_ = 0;
    if (hello_waits_) outbox_.pop_front();
    hello_waits_ = true;
    outbox_.push_front(json{{"type", "hello"},
                            {"protocol", kProtocol},
                            {"job", options_.job},
                            {"rank", options_.rank},
                            {"attempt", options_.attempt},
                            {"pid", getpid()}}
                           .dump() +
                       "\n");
    connected_ = true;
  }
  std::string input;
  while (true) {
    bool stopping = false;
    bool pending = false;
    {
      const std::lock_guard lock(mutex_);
      stopping = stopping_;
      pending = !outbox_.empty();
    }
    if (stopping) return;
    pollfd fds[2] = {{fd, static_cast<short>(pending ? POLLIN | POLLOUT : POLLIN), 0},
                     {wake_fd_, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
    if (fds[1].revents != 0) {
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t n = read(wake_fd_, &count, sizeof(count));
    }
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive_some(fd, input)) return;
    if ((fds[0].revents & POLLOUT) != 0 && !send_some(fd)) return;
  }
}

bool WorkerSession::send_some(int fd) {
  const std::lock_guard lock(mutex_);
  while (!outbox_.empty()) {
    const std::string& line = outbox_.front();
    const ssize_t n = send(fd, line.data() + sent_of_front_, line.size() - sent_of_front_,
                           MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    sent_of_front_ += static_cast<size_t>(n);
    if (sent_of_front_ < line.size()) return true;
    outbox_.pop_front();
    sent_of_front_ = 0;
    hello_waits_ = false;
  }
  changed_.notify_all();
  return true;
}

bool WorkerSession::receive_some(int fd, std::string& input) {
  char block[4096];
  const ssize_t n = recv(fd, block, sizeof(block), MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (n == 0) return false;
  input.append(block, static_cast<size_t>(n));
  size_t end = 0;
  while ((end = input.find('\n')) != std::string::npos) {
    handle_line(input.substr(0, end));
    input.erase(0, end + 1);
  }
  return input.size() <= kLongestLine;
}

void WorkerSession::handle_line(const std::string& line) {
  const json message = json::parse(line, nullptr, false);
  if (!message.is_object() || !message.contains("type") || !message["type"].is_string()) {
    log_warn("agent_line_ignored", "reason=" + quote_text("not an object with a type"));
    return;
  }
  // Kinds that a newer agent may send are passed over.
  if (message["type"] != "notice") return;
  SessionNotice notice;
  const auto number = [&](const char* key) {
    return message.contains(key) && message[key].is_number() ? message[key].get<int64_t>() : 0;
  };
  notice.id = number("id");
  notice.deadline = milliseconds(number("deadline_ms"));
  if (message.contains("reason") && message["reason"].is_string()) {
    notice.reason = message["reason"].get<std::string>();
  }
  const std::lock_guard lock(mutex_);
  if (!notice_) notice_ = std::move(notice);
}

}  // namespace keiko::train
