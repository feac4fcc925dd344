#include "agent/health/check_lane.h"

#include <sys/resource.h>

#include <utility>

namespace keiko::agent {
namespace {

constexpr int kBackgroundNice = 10;

}  // namespace

CheckLane::CheckLane(std::unique_ptr<Checks> checks, Tell tell, bool in_background)
    : checks_(std::move(checks)),
      tell_(std::move(tell)),
      in_background_(in_background),
      thread_([this](const std::stop_token& end) { work(end); }) {}

CheckLane::~CheckLane() {
  thread_.request_stop();
  const std::lock_guard lock(mutex_);
  running_stop_.request_stop();
}

void CheckLane::start(uint64_t ticket, CheckOrder order) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({ticket, std::move(order), {}});
  changed_.notify_all();
}

void CheckLane::cancel(uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  if (running_ == ticket) running_stop_.request_stop();
  for (Order& order : waiting_) {
    if (order.ticket == ticket) order.stop.request_stop();
  }
}

void CheckLane::work(const std::stop_token& end) {
  // On Linux this is the thread's own.
  if (in_background_) setpriority(PRIO_PROCESS, 0, kBackgroundNice);
  while (true) {
    Order next;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, end, [this] { return !waiting_.empty(); })) return;
      if (end.stop_requested()) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
      running_ = next.ticket;
      running_stop_ = next.stop;
    }
    Result result;
    result.ticket = next.ticket;
    if (!next.stop.stop_requested()) {
      result.outcomes = checks_->run(next.order, next.stop.get_token());
    }
    result.broken_off = next.stop.stop_requested();
    if (end.stop_requested()) return;
    {
      const std::lock_guard lock(mutex_);
      running_ = 0;
    }
    tell_(std::move(result));
  }
}

}  // namespace keiko::agent
