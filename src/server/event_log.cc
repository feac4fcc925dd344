// A ring whose cursors are contiguous, so that a cursor is found by subtraction.
#include "server/event_log.h"

namespace keiko::server {

EventLog::EventLog(uint64_t term, size_t capacity)
    : capacity_(capacity), next_cursor_((term << 32) + 1) {}

void EventLog::append(v1::Event event) {
  const std::lock_guard lock(mutex_);
  event.set_cursor(next_cursor_++);
  ring_.push_back(std::make_shared<const v1::Event>(std::move(event)));
  if (ring_.size() > capacity_) ring_.pop_front();
  news_ = true;
}

void EventLog::publish() {
  {
    const std::lock_guard lock(mutex_);
    if (!news_) return;
    news_ = false;
  }
  const std::lock_guard lock(listeners_mutex_);
  for (const auto& [number, on_news] : listeners_) on_news();
}

Result<std::vector<EventLog::Entry>> EventLog::read(uint64_t after, size_t limit) const {
  const std::lock_guard lock(mutex_);
  const uint64_t first = next_cursor_ - ring_.size();
  if (after == 0) after = first - 1;
  if (after + 1 < first || after >= next_cursor_) {
    return Error{Code::kOutOfRange,
                 "event " + std::to_string(after) + " is not in the server's memory, which holds " +
                     std::to_string(first) + " to " + std::to_string(next_cursor_ - 1) +
                     "; watch again without a cursor",
                 "after"};
  }
  std::vector<Entry> entries;
  for (size_t i = after + 1 - first; i < ring_.size() && entries.size() < limit; ++i) {
    entries.push_back(ring_[i]);
  }
  return entries;
}

uint64_t EventLog::newest() const {
  const std::lock_guard lock(mutex_);
  return next_cursor_ - 1;
}

uint64_t EventLog::listen(std::function<void()> on_news) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_[next_listener_] = std::move(on_news);
  return next_listener_++;
}

void EventLog::unlisten(uint64_t listener) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.erase(listener);
}

}  // namespace keiko::server
