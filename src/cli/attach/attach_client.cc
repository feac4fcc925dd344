#include "cli/attach/attach_client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>

namespace keiko::cli {
namespace {

constexpr size_t kPieceBytes = 32 * 1024;
constexpr int kSignalsToLeave = 3;

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

void set_size(v1::AttachSize& size) {
  winsize window{};
  if (ioctl(STDIN_FILENO, TIOCGWINSZ, &window) != 0) return;
  size.set_rows(window.ws_row);
  size.set_columns(window.ws_col);
}

}  // namespace

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

AttachClient::AttachClient(AttachCall& call, AttachEnds ends)
    : call_(call), ends_(std::move(ends)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      window_(kAttachInputWindow) {}

AttachClient::~AttachClient() { close(wake_); }

Result<int> AttachClient::run(const v1::AttachOpen& open) {
  terminal_ = open.terminal();
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

void AttachClient::leave() {
  left_ = true;
  call_.cancel();
}

void AttachClient::read_all() {
  v1::AttachFrame frame;
  while (!end_ && call_.read(frame)) {
    if (frame.has_window()) {
      if (ends_.entered) ends_.entered();
      window_ += frame.window();
      wake();
    } else if (frame.has_end()) {
      end_ = frame.end();
    } else if (frame.has_data() && !take_data(frame.data())) {
      left_ = true;  // nobody reads us any more
      return;
    }
  }
}

bool AttachClient::take_data(const v1::AttachData& data) {
  const int fd = data.stream() == "err" ? ends_.err : ends_.out;
  if (fd >= 0 && !write_whole(fd, data.data())) return false;
  if (data.ended() && ends_.socket) shutdown(fd, SHUT_WR);
  return true;
}

// ---- the sender's thread: input and signals ----

void AttachClient::send_all() {
  if (ends_.in < 0) send_ended();
  const int signals = ends_.signals != nullptr ? ends_.signals->fd() : -1;
  while (!over_) {
    pollfd waits[3] = {{wake_, POLLIN, 0},
                       {signals, POLLIN, 0},
                       {input_ended_ || window_ <= 0 ? -1 : ends_.in, POLLIN, 0}};
    poll(waits, 3, -1);
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(wake_, &count, sizeof count);
    while (const int number = signals >= 0 ? ends_.signals->next() : 0) take_signal(number);
    if (waits[2].revents != 0 && !over_) send_input();
  }
}

void AttachClient::take_signal(int number) {
  v1::AttachFrame frame;
  if (number == SIGWINCH) {
    if (!terminal_) return;
    set_size(*frame.mutable_size());
  } else if (number == SIGHUP || terminal_ || ends_.signals_leave ||
             (number != SIGQUIT && ++interrupts_ >= kSignalsToLeave)) {
    // In a terminal, keys come as bytes: a signal is for us, and a shell would not heed SIGTERM.
    return leave();
  } else {
    frame.set_signal(number);
  }
  call_.write(frame);
}

void AttachClient::send_input() {
  char buffer[kPieceBytes];
  const size_t most = std::min<size_t>(kPieceBytes, static_cast<size_t>(window_.load()));
  const ssize_t got = read(ends_.in, buffer, most);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return send_ended();
  v1::AttachFrame frame;
  frame.mutable_data()->set_stream("in");
  frame.mutable_data()->set_data(buffer, static_cast<size_t>(got));
  window_ -= got;
  call_.write(frame);
}

void AttachClient::send_ended() {
  input_ended_ = true;
  v1::AttachFrame frame;
  frame.mutable_data()->set_stream("in");
  frame.mutable_data()->set_ended(true);
  call_.write(frame);
}

void AttachClient::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

Result<int> AttachClient::outcome(const Done& finished) const {
  if (end_ && end_->code().empty()) {
    return end_->signal() != 0 ? 128 + end_->signal() : end_->exit_code();
  }
  if (end_) {
    for (const Code code : {Code::kUnavailable, Code::kAborted, Code::kResourceExhausted}) {
      if (end_->code() == code_name(code)) return Error{code, end_->message(), {}};
    }
    return failed_precondition(end_->message());
  }
  if (left_) return Error{Code::kCancelled, "left; the command is killed", {}};
  if (!finished.ok() && finished.error().code != Code::kCancelled) return finished.error();
  return unavailable(
      "the server went away, and what this call ran in the worker with it; the worker itself is "
      "not touched by that");
}

Result<int> attach_and_wait(const std::string& server, const v1::AttachOpen& open,
                            const SignalStream& signals) {
  const std::unique_ptr<AttachCall> call = dial_client_attach(server);
  v1::AttachOpen sized = open;
  if (open.terminal()) set_size(*sized.mutable_size());
  const RawTerminal raw(open.terminal());
  AttachEnds ends;
  ends.signals = &signals;
  return AttachClient(*call, ends).run(sized);
}

}  // namespace keiko::cli
