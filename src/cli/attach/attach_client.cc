#include "cli/attach/attach_client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>

namespace keiko::cli {
namespace {

constexpr size_t kPieceBytes = 32 * 1024;
constexpr int kInterruptsToLeave = 3;

/// Standard input as bytes, not lines, until it goes out of scope.
class RawTerminal {
 public:
  explicit RawTerminal(bool wanted) : raw_(wanted && tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!raw_) return;
    termios raw = before_;
    cfmakeraw(&raw);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  ~RawTerminal() {
    if (raw_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  const bool raw_;
};

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

void set_size(v1::AttachSize& size) {
  winsize window{};
  if (ioctl(STDIN_FILENO, TIOCGWINSZ, &window) != 0) return;
  size.set_rows(window.ws_row);
  size.set_columns(window.ws_col);
}

class AttachClient {
 public:
  AttachClient(AttachCall& call, const SignalStream& signals, bool terminal)
      : call_(call), signals_(signals), terminal_(terminal),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~AttachClient() { close(wake_); }

  Result<int> run(const v1::AttachOpen& open) {
    v1::AttachFrame first;
    *first.mutable_open() = open;
    call_.write(first);
    std::thread sender([this] { send_all(); });
    read_all();
    over_ = true;
    wake();
    sender.join();
    if (end_ || left_) call_.cancel();
    const Done finished = call_.finish();
    return outcome(finished);
  }

 private:
  void read_all() {
    v1::AttachFrame frame;
    while (!end_ && call_.read(frame)) {
      if (frame.has_window()) {
        window_ += frame.window();
        wake();
      } else if (frame.has_end()) {
        end_ = frame.end();
      } else if (frame.has_data()) {
        const bool is_err = frame.data().stream() == "err";
        if (write_whole(is_err ? STDERR_FILENO : STDOUT_FILENO, frame.data().data())) continue;
        left_ = true;  // nobody reads us any more
        return;
      }
    }
  }

  // ---- the sender's thread: input and signals ----

  void send_all() {
    while (!over_) {
      pollfd waits[3] = {{wake_, POLLIN, 0},
                         {signals_.fd(), POLLIN, 0},
                         {input_ended_ || window_ <= 0 ? -1 : STDIN_FILENO, POLLIN, 0}};
      poll(waits, 3, -1);
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t got = read(wake_, &count, sizeof count);
      while (const int number = signals_.next()) take_signal(number);
      if (waits[2].revents != 0 && !over_) send_input();
    }
  }

  void take_signal(int number) {
    v1::AttachFrame frame;
    if (number == SIGWINCH) {
      if (!terminal_) return;
      set_size(*frame.mutable_size());
    } else if (number == SIGHUP || (number == SIGINT && ++interrupts_ >= kInterruptsToLeave)) {
      left_ = true;
      return call_.cancel();
    } else {
      frame.set_signal(number);
    }
    call_.write(frame);
  }

  void send_input() {
    char buffer[kPieceBytes];
    const size_t most = std::min<size_t>(kPieceBytes, static_cast<size_t>(window_.load()));
    const ssize_t got = read(STDIN_FILENO, buffer, most);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    v1::AttachFrame frame;
    frame.mutable_data()->set_stream("in");
    if (got > 0) {
      frame.mutable_data()->set_data(buffer, static_cast<size_t>(got));
      window_ -= got;
    } else {
      input_ended_ = true;
      frame.mutable_data()->set_ended(true);
    }
    call_.write(frame);
  }

  void wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
  }

  Result<int> outcome(const Done& finished) const {
    if (end_ && end_->code().empty()) {
      return end_->signal() != 0 ? 128 + end_->signal() : end_->exit_code();
    }
    if (end_) {
      const bool lost = end_->code() == code_name(Code::kUnavailable);
      return lost ? unavailable(end_->message()) : failed_precondition(end_->message());
    }
    if (left_) return Error{Code::kCancelled, "left; the command is killed", {}};
    if (!finished.ok() && finished.error().code != Code::kCancelled) return finished.error();
    return unavailable(
        "the server went away, and the command was killed; the worker is not touched by that");
  }

  AttachCall& call_;
  const SignalStream& signals_;
  const bool terminal_;
  const int wake_;
  std::atomic<int64_t> window_ = kAttachInputWindow;
  std::atomic<bool> over_ = false;
  std::atomic<bool> left_ = false;
  bool input_ended_ = false;  // the sender's
  int interrupts_ = 0;        // the sender's
  std::optional<v1::AttachEnd> end_;
};

}  // namespace

Result<int> attach_and_wait(const std::string& server, const v1::AttachOpen& open,
                            const SignalStream& signals) {
  const std::unique_ptr<AttachCall> call = dial_client_attach(server);
  v1::AttachOpen sized = open;
  if (open.terminal()) set_size(*sized.mutable_size());
  const RawTerminal raw(open.terminal());
  return AttachClient(*call, signals, open.terminal()).run(sized);
}

}  // namespace keiko::cli
