// The simulated world: one server, some machines, a network between them, clients, faults and the
// checkers that watch. Everything random comes from the run's seed; nothing here reads a real
// clock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"
#include "sim/checkers.h"
#include "sim/event_heap.h"
#include "sim/sim_machine.h"
#include "sim/sim_options.h"
#include "sim/sim_server.h"
#include "sim/trace.h"

namespace keiko::sim {

/// RETURNS: machine `index` (from 0) of a run with these options.
NodeSpec machine_spec(int32_t index, const SimOptions& options);

class World {
 public:
  World(const SimOptions& options, Trace& trace);

  EventHeap& heap() { return heap_; }
  Prng& prng() { return prng_; }
  const SimOptions& options() const { return options_; }
  FaultOptions& faults() { return faults_; }
  SimServer& server() { return server_; }
  std::vector<std::unique_ptr<SimMachine>>& machines() { return machines_; }
  SimMachine* machine_named(const std::string& name);

  void trace(const std::string& who, const std::string& text);
  void each_checker(const std::function<void(Checker&)>& visit);
  std::vector<std::string> violations() const;
  Duration elapsed() const;

  /// RETURNS: a chance of n in 10,000, drawn from the run's seed.
  bool chance(int64_t n) { return n > 0 && prng_.chance(static_cast<uint64_t>(n), 10'000); }
  Duration network_delay();

  // ---- the network ----

  /// A machine opens a stream; both ends learn of it if the server is up and reachable.
  uint64_t connect(int32_t machine);
  void to_server(int32_t machine, uint64_t connection, cluster::EventBody body);
  void to_machine(int32_t machine, uint64_t connection, ServerMessage message);
  /// One end closed or died: the other learns of it later, unless a partition hides it.
  void break_connection(int32_t machine, uint64_t connection);

  // ---- clients ----

  /// Sends a command until it is answered; `answered` gets the reply (possibly repeated).
  void command(cluster::CommandBody body,
               std::function<void(const cluster::Reply&)> answered = nullptr);
  void reply(const cluster::Reply& reply);

 private:
  void transmit(int32_t machine, std::function<void()> deliver);
  void send_command(uint64_t request);

  struct Request {
    cluster::CommandBody body;
    std::function<void(const cluster::Reply&)> answered;
  };

  SimOptions options_;
  FaultOptions faults_;
  Trace& trace_;
  EventHeap heap_;
  Time start_;
  Prng prng_;
  std::vector<std::unique_ptr<Checker>> checkers_;
  SimServer server_;
  std::vector<std::unique_ptr<SimMachine>> machines_;
  uint64_t next_connection_ = 1;
  uint64_t next_request_ = 1;
  std::map<uint64_t, Request> requests_;
};

}  // namespace keiko::sim
