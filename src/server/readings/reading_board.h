// ReadingBoard: the newest readings of each agent, by its connection. Not part of the state: it is
// lost with the server, and what an agent has not repeated for a while is no longer shown.
// Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "base/time.h"
#include "keiko/v1/agent.pb.h"
#include "ports/clock.h"

namespace keiko::server {

class ReadingBoard {
 public:
  /// As long as an agent itself takes a reading for the present.
  static constexpr Duration kFresh = seconds(10);

  explicit ReadingBoard(Clock& clock) : clock_(clock) {}

  void put(uint64_t connection, v1::ReadingReport report);
  void remove(uint64_t connection);

  /// RETURNS: nothing if there is none, or none that is fresh.
  std::optional<v1::ReadingReport> find(uint64_t connection) const;

 private:
  struct Told {
    Time at;
    v1::ReadingReport report;
  };
  Clock& clock_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Told> told_;
};

}  // namespace keiko::server
