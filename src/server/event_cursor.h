// EventCursor: one watcher's place in the EventLog, with its filter. For one thread at a time.
#pragma once

#include <deque>

#include "server/event_log.h"

namespace keiko::server {

class EventCursor {
 public:
  EventCursor(const EventLog& log, const v1::WatchEventsRequest& request)
      : log_(log), job_(request.job()), after_(request.after()) {}

  /// RETURNS: the next event, null if there is none yet; kOutOfRange if the start is gone,
  /// kResourceExhausted if the watcher was too slow.
  Result<EventLog::Entry> next() {
    while (true) {
      while (!fetched_.empty()) {
        const EventLog::Entry entry = fetched_.front();
        fetched_.pop_front();
        after_ = entry->cursor();
        if (job_.empty() || entry->job() == job_) return entry;
      }
      Result<std::vector<EventLog::Entry>> more = log_.read(after_, kFetch);
      if (!more.ok()) return read_before_ ? too_slow() : more.error();
      read_before_ = true;
      if (more->empty()) return EventLog::Entry();
      fetched_.assign(more->begin(), more->end());
    }
  }

  /// RETURNS: whether the ring has moved past this watcher.
  bool lost() const { return read_before_ && !log_.read(after_ + fetched_.size(), 1).ok(); }

  static Error too_slow() {
    return resource_exhausted("the client did not read its events in time and some are gone; watch "
                              "again without a cursor");
  }

 private:
  static constexpr size_t kFetch = 64;

  const EventLog& log_;
  const std::string job_;
  uint64_t after_;
  std::deque<EventLog::Entry> fetched_;
  bool read_before_ = false;
};

}  // namespace keiko::server
