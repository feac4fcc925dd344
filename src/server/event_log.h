// EventLog: the last notes of the brain, numbered, for WatchEvents and /v1/events.
//
// Readers pull: each keeps a cursor and asks for what follows, so a slow one costs nothing but its
// own place, and is told when the ring has moved past it. Thread-safe; the loop alone appends.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "keiko/v1/cluster.pb.h"

namespace keiko::server {

class EventLog {
 public:
  using Entry = std::shared_ptr<const v1::Event>;

  /// Cursors start above those of every earlier term, so that a cursor from before a restart is
  /// known to be old instead of pointing at another event.
  EventLog(uint64_t term, size_t capacity);

  /// Numbers the event. Listeners hear of it at publish().
  void append(v1::Event event);
  void publish();

  /// RETURNS: at most `limit` entries after cursor `after` (0: from the oldest there is), or
  /// kOutOfRange, with what to do, if some of them are gone.
  Result<std::vector<Entry>> read(uint64_t after, size_t limit) const;

  uint64_t newest() const;

  /// `on_news` is called from the loop thread after each publish() that had news; it must be quick.
  /// RETURNS: a number for unlisten(). After unlisten() returns, on_news is not called any more.
  uint64_t listen(std::function<void()> on_news);
  void unlisten(uint64_t listener);

 private:
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<Entry> ring_;
  uint64_t next_cursor_;
  bool news_ = false;

  std::mutex listeners_mutex_;  // held while listeners are called
  std::map<uint64_t, std::function<void()>> listeners_;
  uint64_t next_listener_ = 1;
};

}  // namespace keiko::server
