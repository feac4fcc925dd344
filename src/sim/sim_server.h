// The simulated server: a cluster brain, the journal it writes, and the order of effects. It can
// die between any two of them, and starts again from what the journal holds.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/cluster/cluster_brain.h"
#include "sim/event_heap.h"

namespace keiko::sim {

class World;

class SimServer {
 public:
  SimServer(World& world, DriftClock clock);

  bool up() const { return brain_.has_value(); }
  /// REQUIRES: up().
  const cluster::ClusterBrain& brain() const { return *brain_; }
  const State& state() const { return brain_->state(); }
  Time local_now() const;

  void start();
  void crash(const std::string& why);

  /// Feeds one event, then a wake: the queue is empty. Nothing happens if the server is down.
  void feed(cluster::EventBody body);

  void connection_opened(uint64_t connection, int32_t machine);
  /// The stream broke, as seen from this side.
  void connection_broken(uint64_t connection);
  bool knows(uint64_t connection) const { return machines_.contains(connection); }

  /// RETURNS: the state that the journal alone gives; CHECKs that every record applies.
  State replay() const;
  const std::vector<std::string>& journal() const { return journal_; }

 private:
  void step(cluster::EventBody body);
  /// RETURNS: false if the server died on the way.
  bool carry_out(const cluster::Effects& effects);
  void carry_out_one(const cluster::Effect& effect);
  void persist(const StateEvent& event);
  void take_snapshot();

  World& world_;
  DriftClock clock_;
  std::optional<cluster::ClusterBrain> brain_;
  std::vector<std::string> journal_;     ///< every durable record since the beginning
  std::string snapshot_;                 ///< of the state after `snapshot_records_` records
  size_t snapshot_records_ = 0;
  uint64_t term_ = 0;
  std::map<uint64_t, int32_t> machines_; ///< connection -> machine
  std::optional<Time> wake_;             ///< local time of the earliest wake asked for
};

}  // namespace keiko::sim
