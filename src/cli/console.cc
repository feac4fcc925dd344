#include "cli/console.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "cli/exit_code.h"

namespace keiko::cli {
namespace {

// A signal handler has nothing to hold on to but globals.
std::atomic<int> interrupt_count{0};
std::atomic<int64_t> last_interrupt_ms{-1'000'000};
constexpr int64_t kOnePressMs = 200;
int interrupt_pipe[2] = {-1, -1};

int64_t monotonic_ms() {
  timespec now{};  // clock_gettime may be called from a signal handler
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void on_interrupt(int /*signal*/) {
  const int saved = errno;
  // One Ctrl-C may arrive twice: from the terminal and passed on by a parent such as `timeout`.
  const int64_t now_ms = monotonic_ms();
  if (now_ms - last_interrupt_ms.exchange(now_ms) < kOnePressMs) return;
  interrupt_count.fetch_add(1);
  const char byte = 1;
  [[maybe_unused]] const ssize_t written = ::write(interrupt_pipe[1], &byte, 1);
  errno = saved;
}

/// Sleeps up to `span`, wakes for Ctrl-C.
int wait_for_interrupt(Duration span) {
  const int64_t end = monotonic_ms() + span.millis();
  while (true) {
    const int64_t left = end - monotonic_ms();
    pollfd poll_pipe{interrupt_pipe[0], POLLIN, 0};
    const nfds_t count = interrupt_pipe[0] >= 0 ? 1 : 0;
    const int ready = ::poll(&poll_pipe, count, static_cast<int>(left > 0 ? left : 0));
    if (ready > 0) {
      char bytes[64];
      [[maybe_unused]] const ssize_t drained = ::read(interrupt_pipe[0], bytes, sizeof bytes);
      return interrupt_count.load();
    }
    if (ready == 0) return interrupt_count.load();
    if (errno != EINTR) return interrupt_count.load();
  }
}

/// An answer that did not arrive is no success, whatever became of what was asked for.
[[noreturn]] void end_unheard(int error) {
  const std::string why = std::string("keiko: cannot write to standard output: ") +
                          std::strerror(error) + "\n";
  [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, why.data(), why.size());
  ::_exit(kExitFailure);
}

/// Writes all of it. A reader that has gone (`keiko logs | head`) ends the process as SIGPIPE does.
void write_text(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) {
      pollfd ready{fd, POLLOUT, 0};
      ::poll(&ready, 1, 1000);
      continue;
    }
    if (written < 0) {
      if (errno == EPIPE) ::_exit(128 + SIGPIPE);
      if (fd == STDOUT_FILENO) end_unheard(errno);
      return;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

ScreenSize screen_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    return {size.ws_col, size.ws_row};
  }
  return {};
}

struct Range { char32_t first, last; };
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                           {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

size_t width_of(char32_t point) {
  if (point >= 0x300 && point <= 0x36F) return 0;  // combining accents
  for (const Range& range : kWide) {
    if (point >= range.first && point <= range.last) return 2;
  }
  return 1;
}

/// Takes one UTF-8 character off the front. RETURNS: its bytes; a bad byte stands for itself.
std::string_view take_character(std::string_view& text, char32_t& point) {
  const auto first = static_cast<unsigned char>(text[0]);
  size_t size = first < 0x80       ? 1
                : first >> 5 == 6  ? 2
                : first >> 4 == 14 ? 3
                : first >> 3 == 30 ? 4
                                   : 1;
  // A byte that begins no character is none: shown as U+FFFD, never sent as it is.
  point = first < 0x80 ? first : size == 1 ? 0xFFFD : first & (0xFF >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if (i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      size = 1;
      point = 0xFFFD;
      break;
    }
    point = point << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  }
  const std::string_view bytes = text.substr(0, size);
  text.remove_prefix(size);
  return bytes;
}

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::kPlain: return "";
    case Colour::kBold: return "\033[1m";
    case Colour::kDim: return "\033[2m";
    case Colour::kRed: return "\033[31m";
    case Colour::kGreen: return "\033[32m";
    case Colour::kYellow: return "\033[33m";
    case Colour::kBlue: return "\033[34m";
    case Colour::kCyan: return "\033[36m";
  }
  return "";
}

}  // namespace

std::string Console::paint(Colour colour_of_text, std::string_view text) const {
  if (!colour || colour_of_text == Colour::kPlain || text.empty()) return std::string(text);
  return code_of(colour_of_text) + std::string(text) + "\033[0m";
}

void catch_interrupts() {
  if (interrupt_pipe[0] < 0 && ::pipe2(interrupt_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
}

void restore_interrupts() { ::signal(SIGINT, SIG_DFL); }

Console process_console() {
  Console console;
  // A closed reader shows as EPIPE in write_text; it must not kill a verb in the middle.
  ::signal(SIGPIPE, SIG_IGN);
  console.out = [](std::string_view text) { write_text(STDOUT_FILENO, text); };
  console.err = [](std::string_view text) { write_text(STDERR_FILENO, text); };
  const char* kind = std::getenv("TERM");
  console.terminal =
      ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
  const char* no_colour = std::getenv("NO_COLOR");
  console.colour = console.terminal && (no_colour == nullptr || *no_colour == '\0');
  console.size = screen_size;
  console.now = [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return Time{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
  };
  console.wait = wait_for_interrupt;
  console.interrupts = [] { return interrupt_count.load(); };
  return console;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    if (text.starts_with("\033[")) {  // a colour takes no room
      const size_t end = text.find('m');
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      continue;
    }
    char32_t point = 0;
    take_character(text, point);
    width += width_of(point);
  }
  return width;
}

std::string shorten(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::string out;
  size_t used = 0;
  while (!text.empty()) {
    char32_t point = 0;
    const std::string_view bytes = take_character(text, point);
    if (used + width_of(point) > width - 1) break;
    out += bytes;
    used += width_of(point);
  }
  return out + "…";
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    char32_t point = 0;
    const std::string_view bytes = take_character(text, point);
    if (point < 0x20 || point == 0x7F || (point >= 0x80 && point < 0xA0)) out += ' ';
    else if (point == 0xFFFD) out += "\xEF\xBF\xBD";
    else out += bytes;
  }
  return out;
}

}  // namespace keiko::cli
