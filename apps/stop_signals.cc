#include "stop_signals.h"

#include <pthread.h>

#include <csignal>

namespace keiko::apps {
namespace {

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  waiter_ = std::thread([this, set] {
    int number = 0;
    sigwait(&set, &number);
    source_.request_stop();
  });
}

// The waiter is woken by a signal of our own if none came.
StopSignals::~StopSignals() {
  if (!source_.stop_requested()) pthread_kill(waiter_.native_handle(), SIGTERM);
  waiter_.join();
}

}  // namespace keiko::apps
