// The life of a supervisor; up_start.cc has how the processes come up, up_stop.cc how they end.
#include "up_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace keiko::up {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

UpLoop::UpLoop(UpOptions options) : options_(std::move(options)) {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ours, number);
  pthread_sigmask(SIG_BLOCK, &ours, &before_);
  signal_fd_ = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
  CHECK(signal_fd_ >= 0);
}

UpLoop::~UpLoop() {
  close(signal_fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Done UpLoop::run(const std::function<void(const ServerAddress&)>& on_ready) {
  TRY(make_folders(options_));
  TRY(lock_.take(options_.state_dir));
  const Done started = start_all(read_up_record(options_.state_dir));
  if (started.ok() && signals_ == 0) {
    TRY(save(true));
    on_ready(address_);
  }
  while (started.ok() && signals_ == 0) {
    milliseconds most(60'000);
    for (const Child& child : children_) {
      if (child.pidfd() >= 0) continue;
      const auto left = child.restart_at() - steady_clock::now();
      most = std::min(most, std::chrono::ceil<milliseconds>(left));
    }
    wait(std::max(most, milliseconds(0)));
    if (signals_ == 0) revive();
  }
  stop_all();
  return started;
}

void UpLoop::wait(milliseconds most) {
  std::vector<pollfd> polled{{signal_fd_, POLLIN, 0}};
  for (const Child& child : children_) {
    if (child.pidfd() >= 0) polled.push_back({child.pidfd(), POLLIN, 0});
  }
  poll(polled.data(), polled.size(), static_cast<int>(most.count()));
  signalfd_siginfo told;
  while (read(signal_fd_, &told, sizeof told) == sizeof told) ++signals_;
}

void UpLoop::revive() {
  for (Child& child : children_) {
    if (child.pidfd() >= 0 && !child.lives()) {
      const int64_t pid = child.identity().pid;
      const std::string how = child.bury();
      std::printf("%s (pid %lld) ended%s%s\n", child.name().c_str(), static_cast<long long>(pid),
                  how.empty() ? "" : " ", how.c_str());
    }
    if (child.pidfd() >= 0 || child.restart_at() > steady_clock::now()) continue;
    const Done started = child.start();
    const std::string word =
        started.ok() ? "pid " + std::to_string(child.identity().pid) : started.error().message;
    std::printf("%s started again: %s\n", child.name().c_str(), word.c_str());
    if (const Done saved = save(true); !saved.ok()) {
      std::printf("up.json is old now: %s\n", saved.error().message.c_str());
    }
  }
  std::fflush(stdout);
}

Done UpLoop::save(bool ready) {
  UpRecord record;
  record.grpc = address_.grpc;
  record.ready = ready;
  record.devices_per_node = options_.devices_per_node;
  record.device_memory = options_.device_memory;
  record.processes.push_back({"supervisor", process::identify(getpid())});
  for (const Child& child : children_) {
    if (child.pidfd() >= 0) record.processes.push_back({child.name(), child.identity()});
  }
  return write_up_record(options_.state_dir, record);
}

}  // namespace keiko::up
