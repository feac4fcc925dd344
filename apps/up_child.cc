#include "up_child.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace keiko::up {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
// The first restart is at once, as a single crash should cost nothing; a crash loop ends at 5 s.
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kMostPause{5000};
constexpr milliseconds kHealthy{10'000};

}  // namespace

Child::Child(Child&& other) noexcept
    : name_(std::move(other.name_)), argv_(std::move(other.argv_)), log_(std::move(other.log_)),
      identity_(other.identity_), pidfd_(other.pidfd_), started_at_(other.started_at_),
      restart_at_(other.restart_at_), pause_(other.pause_) {
  other.pidfd_ = -1;
}

Child::~Child() { close_pidfd(); }

void Child::close_pidfd() {
  if (pidfd_ >= 0) close(pidfd_);
  pidfd_ = -1;
}

void Child::watch(const process::ProcessIdentity& identity) {
  close_pidfd();
  identity_ = identity;
  started_at_ = steady_clock::now();
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(identity.pid), 0));
}

Done Child::start() {
  // A supervisor's SIGTERM means that the pool stops, so agents take their workers along.
  watch(TRY(start_process(argv_, {"KEIKO_STOP_WORKERS=1"}, log_)));
  return done();
}

void Child::adopt(const process::ProcessIdentity& identity) { watch(identity); }

std::string Child::bury() {
  const std::string how = reap_process(identity_);
  close_pidfd();
  if (steady_clock::now() - started_at_ > kHealthy) pause_ = milliseconds(0);
  restart_at_ = steady_clock::now() + pause_;
  pause_ = std::clamp(pause_ * 2, kFirstPause, kMostPause);
  return how;
}

}  // namespace keiko::up
