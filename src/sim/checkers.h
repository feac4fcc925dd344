// The checkers: each holds one invariant of docs/INVARIANTS.md against everything that happens in a
// run, and knows nothing of how the system keeps it. Violations are collected, the first is
// reported.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/cluster/cluster_brain.h"
#include "model/worker.h"

namespace keiko::sim {

/// A live process of the simulated world, whoever believes what about it.
struct LiveProcess {
  WorkerKey key;
  std::string node;
  WorkerLaunch launch;
};

/// What a checker may look at when asked for its verdict at the end.
struct Outcome {
  const State* state = nullptr;
  Time now;
  bool healed = false;       ///< the liveness phase has ended, all faults long gone
};

/// One invariant. Every hook has an empty default; a checker overrides what it watches.
class Checker {
 public:
  virtual ~Checker() = default;
  virtual const char* name() const = 0;

  virtual void process_started(const LiveProcess& /*process*/, const NodeSpec& /*node*/) {}
  virtual void process_ended(const LiveProcess& /*process*/) {}
  /// After every step of the server.
  virtual void server_stepped(const State& /*state*/) {}
  /// The live state's digest beside that of a replay of the journal from its start.
  virtual void replayed(Digest /*live*/, Digest /*replay*/) {}
  /// A client has the answer in hand: this job exists.
  virtual void acknowledged(JobId /*job*/, const std::string& /*token*/) {}
  /// A program finished writing a checkpoint.
  virtual void checkpoint_written(JobId /*job*/, const CheckpointMark& /*mark*/) {}
  virtual void at_end(const Outcome& /*outcome*/) {}

  const std::vector<std::string>& violations() const { return violations_; }

 protected:
  void violated(std::string text) {
    if (violations_.size() < 10) violations_.push_back(std::move(text));
  }

 private:
  std::vector<std::string> violations_;
};

/// All checkers, in the order of docs/INVARIANTS.md.
std::vector<std::unique_ptr<Checker>> make_checkers();

}  // namespace keiko::sim
