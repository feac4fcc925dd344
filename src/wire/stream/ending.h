// Ending: whether a stream's last callback has come. Thread-safe.
#pragma once

#include <condition_variable>
#include <mutex>

namespace keiko {

/// Set by a stream's last callback, as the last thing it does. Apart from the stream, so that who
/// waits for it may destroy the stream at once.
class Ending {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
  }
  bool is_set() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  /// Keeps set() waiting meanwhile.
  template <class Act>
  void unless_set(const Act& act) {
    const std::lock_guard lock(mutex_);
    if (!done_) act();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

}  // namespace keiko
