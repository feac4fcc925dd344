// SIGTERM and SIGINT as a std::stop_token, for daemons with threads.
#pragma once

#include <stop_token>
#include <thread>

namespace keiko::apps {

/// Blocks both signals for every thread that is started later and waits for them on one of its own.
/// REQUIRES: constructed before any other thread starts.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::thread waiter_;
};

}  // namespace keiko::apps
