#include "agent/attach/attach_session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/log.h"

namespace keiko::agent {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;
constexpr char kEndOfInput = '\x04';  // what a terminal's line discipline takes for it

TerminalSize size_of(const v1::AttachSize& size) {
  TerminalSize out;
  if (size.rows() > 0 && size.rows() < 10'000) out.rows = size.rows();
  if (size.columns() > 0 && size.columns() < 10'000) out.columns = size.columns();
  return out;
}

VisitOrder order_of(const v1::AttachOpen& open) {
  VisitOrder order;
  order.argv.assign(open.argv().begin(), open.argv().end());
  order.env.insert(open.env().begin(), open.env().end());
  if (open.terminal()) order.terminal = size_of(open.size());
  if (open.has_copy()) {
    order.copy = VisitCopy{open.copy().path(), open.copy().into_worker(), open.copy().recursive()};
  }
  return order;
}

Result<std::unique_ptr<Visit>> visit_for(WorkerDoor& door, const WorkerKey& key,
                                         const v1::AttachOpen& open) {
  if (open.presence()) return door.watch(key);
  if (open.port() != 0) return door.connect(key, open.port());
  return door.enter(key, order_of(open));
}

v1::AttachFrame end_frame(const VisitEnd& end) {
  v1::AttachFrame frame;
  v1::AttachEnd& told = *frame.mutable_end();
  told.set_exit_code(end.exit_code);
  told.set_signal(end.signal);
  if (end.error.code != Code::kOk) {
    told.set_code(std::string(code_name(end.error.code)));
    told.set_message(end.error.message);
  }
  return frame;
}

class Session {
 public:
  Session(AttachCall& call, Visit& visit, const v1::AttachOpen& open)
      : call_(call), visit_(visit), terminal_(open.terminal()), link_(open.port() != 0),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        open_{visit.out() >= 0, visit.err() >= 0} {}
  ~Session() { close(wake_); }

  /// RETURNS: whether the end was told.
  bool run() {
    std::thread reader([this] { read_frames(); });
    const bool told = pump();
    if (!told) call_.cancel();
    call_.writes_done();
    reader.join();
    return told;
  }

 private:
  // ---- the reader's thread ----

  void read_frames() {
    v1::AttachFrame frame;
    while (call_.read(frame)) take(frame);
    const std::lock_guard lock(mutex_);
    gone_ = true;
    wake();
  }

  void take(const v1::AttachFrame& frame) {
    if (frame.has_signal()) return visit_.signal(frame.signal());
    const std::lock_guard lock(mutex_);
    if (frame.has_size()) {
      size_ = size_of(frame.size());
    } else if (frame.has_data()) {
      input_ += frame.data().data();
      input_ended_ = input_ended_ || frame.data().ended();
      if (input_.size() > static_cast<size_t>(kAttachInputWindow))
        gone_ = true;  // it keeps no window
    }
    wake();
  }

  void wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
  }

  // ---- the pump ----

  bool pump() {
    while (true) {
      if (!take_orders()) return false;
      // Before the streams are read: what the command wrote before its end is then all there.
      if (!end_) end_ = visit_.end();
      bool moved = false;
      if (!pass_on(0, visit_.out(), "out", moved) || !pass_on(1, visit_.err(), "err", moved)) {
        return false;
      }
      if (!feed()) return false;
      if (!end_ && link_ && !open_[0] && input_closed_) {
        end_.emplace();
        end_->error.code = Code::kOk;
      }
      if (end_ && !moved) return call_.write(end_frame(*end_));
      if (!moved) wait();
    }
  }

  /// RETURNS: false once the client is gone.
  bool take_orders() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(wake_, &count, sizeof count);
    const std::lock_guard lock(mutex_);
    if (size_) visit_.resize(*size_);
    size_.reset();
    if (feeding_.empty()) std::swap(feeding_, input_);
    ends_after_feed_ = input_ended_ && input_.empty();
    return !gone_;
  }

  bool pass_on(size_t index, int fd, const char* stream, bool& moved) {
    if (!open_[index]) return true;
    buffer_.resize(kPieceBytes);
    const ssize_t got = read(fd, buffer_.data(), buffer_.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return pass_end_on(index, got < 0 ? errno : 0);
    moved = true;
    v1::AttachFrame frame;
    frame.mutable_data()->set_stream(stream);
    frame.mutable_data()->set_data(buffer_.data(), static_cast<size_t>(got));
    return call_.write(frame);
  }

  /// A terminal's last user leaving is EIO, a connection may have been cut.
  bool pass_end_on(size_t index, int error) {
    open_[index] = false;
    if (!link_) return true;
    if (error != 0 && !end_) {
      end_.emplace();
      end_->error = Error{Code::kAborted, std::string("the connection broke: ") +
                          std::strerror(error), {}};
    }
    v1::AttachFrame frame;
    frame.mutable_data()->set_stream("out");
    frame.mutable_data()->set_ended(true);
    return error != 0 || call_.write(frame);
  }

  bool feed() {
    int64_t taken = 0;
    while (!feeding_.empty() && !input_closed_) {
      const ssize_t put = write(visit_.in(), feeding_.data(), feeding_.size());  // no SIGPIPE here
      if (put < 0 && errno == EINTR) continue;
      if (put < 0 && errno == EAGAIN) break;
      if (put < 0) {  // the command reads no more: what comes is dropped
        input_closed_ = true;
        break;
      }
      feeding_.erase(0, static_cast<size_t>(put));
      taken += put;
    }
    if (input_closed_) {
      taken += static_cast<int64_t>(feeding_.size());
      feeding_.clear();
    } else if (feeding_.empty() && ends_after_feed_) {
      end_input();
    }
    if (taken == 0) return true;
    v1::AttachFrame frame;
    frame.set_window(taken);
    return call_.write(frame);
  }

  void end_input() {
    input_closed_ = true;
    if (!terminal_) return visit_.close_in();
    [[maybe_unused]] const ssize_t put = write(visit_.in(), &kEndOfInput, 1);
  }

  void wait() {
    pollfd waits[5] = {{wake_, POLLIN, 0},
                       {end_ ? -1 : visit_.news(), POLLIN, 0},
                       {open_[0] ? visit_.out() : -1, POLLIN, 0},
                       {open_[1] ? visit_.err() : -1, POLLIN, 0},
                       {feeding_.empty() ? -1 : visit_.in(), POLLOUT, 0}};
    poll(waits, 5, -1);
  }

  AttachCall& call_;
  Visit& visit_;
  const bool terminal_;
  const bool link_;  ///< a connection; over when both its directions are
  const int wake_;

  std::mutex mutex_;
  std::string input_;         ///< came, not taken by the pump yet
  bool input_ended_ = false;
  std::optional<TerminalSize> size_;
  bool gone_ = false;

  // The pump's own.
  bool open_[2];
  std::string buffer_;
  std::string feeding_;
  bool ends_after_feed_ = false;
  bool input_closed_ = false;
  std::optional<VisitEnd> end_;
};

void tell_refusal(AttachCall& call, const Error& why) {
  VisitEnd end;
  end.error = why;
  call.write(end_frame(end));
  call.writes_done();
  v1::AttachFrame ignored;
  while (call.read(ignored)) continue;
}

}  // namespace

void refuse_attach(AttachCall& call, const v1::AttachOrder& order, const Error& why) {
  v1::AttachFrame accept;
  accept.set_accept(order.token());
  if (call.write(accept)) tell_refusal(call, why);
}

void serve_attach(AttachCall& call, WorkerDoor& door, const v1::AttachOrder& order) {
  v1::AttachFrame accept;
  accept.set_accept(order.token());
  if (!call.write(accept)) return;
  const WorkerKey key{JobId{order.key().job()}, order.key().attempt(), order.key().rank()};
  auto visit = visit_for(door, key, order.open());
  if (!visit.ok()) return tell_refusal(call, visit.error());
  if (order.open().presence()) {
    v1::AttachFrame entered;
    entered.set_window(0);
    if (!call.write(entered)) return;
  }
  const bool told = Session(call, **visit, order.open()).run();
  if (order.open().port() != 0) return;
  log_info("attach_ended", "worker=" + to_text(key) + (told ? "" : " client=gone"));
}

}  // namespace keiko::agent
