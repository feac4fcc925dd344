// AgentRoster: the open agent streams by the connection numbers that the brain uses. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "keiko/v1/agent.pb.h"
#include "server/readings/reading_board.h"

namespace keiko::server {

/// One agent's stream, as the loop sees it. Safe from any thread.
class AgentPort {
 public:
  virtual ~AgentPort() = default;

  virtual void send(v1::ServerMessage message) = 0;
  /// Ends the stream after what was sent.
  virtual void close(const std::string& why) = 0;
  /// The last message was taken: read the next one. Keeps one message an agent under way.
  virtual void read_next() = 0;
};

class AgentRoster {
 public:
  explicit AgentRoster(Clock& clock) : readings_(clock) {}

  uint64_t add(std::shared_ptr<AgentPort> port) {
    const std::lock_guard lock(mutex_);
    ports_[next_] = std::move(port);
    return next_++;
  }

  void remove(uint64_t connection) {
    readings_.remove(connection);
    const std::lock_guard lock(mutex_);
    ports_.erase(connection);
  }

  /// RETURNS: null if the stream is gone.
  std::shared_ptr<AgentPort> find(uint64_t connection) const {
    const std::lock_guard lock(mutex_);
    const auto found = ports_.find(connection);
    return found == ports_.end() ? nullptr : found->second;
  }

  std::vector<std::shared_ptr<AgentPort>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<AgentPort>> ports;
    for (const auto& [connection, port] : ports_) ports.push_back(port);
    return ports;
  }

  /// What the agents behind these streams measure.
  ReadingBoard& readings() { return readings_; }

 private:
  ReadingBoard readings_;
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<AgentPort>> ports_;
  uint64_t next_ = 1;
};

}  // namespace keiko::server
