#include "sim/world.h"

namespace keiko::sim {

NodeSpec machine_spec(int32_t index, const SimOptions& options) {
  NodeSpec spec;
  spec.name = "n" + std::to_string(index + 1);
  spec.instance = "instance-" + spec.name;
  spec.boot_id = "boot-1";
  spec.address = "10.0.0." + std::to_string(index + 1);
  spec.cpu_milli = 4000 * std::max(1, options.devices_per_node);
  spec.memory = gibibytes(16);
  spec.version = "sim";
  for (int32_t i = 0; i < options.devices_per_node; ++i) {
    Device device;
    device.uuid = spec.name + "-slot-" + std::to_string(i);
    device.kind = "cpu";
    device.vendor = "cpu";
    device.index = i;
    device.memory = gibibytes(4);
    spec.devices.push_back(device);
  }
  return spec;
}

World::World(const SimOptions& options, Trace& trace)
    : options_(options),
      faults_(options.faults),
      trace_(trace),
      start_(heap_.now()),
      prng_(options.seed),
      checkers_(make_checkers()),
      server_(*this, DriftClock(heap_.now(), heap_.now(), 0)) {
  for (int32_t i = 0; i < options.nodes; ++i) {
    const int64_t drift = faults_.drift_ppm_max == 0
                              ? 0
                              : prng_.between(-faults_.drift_ppm_max, faults_.drift_ppm_max);
    // Every machine's clock starts elsewhere: a time that crosses the wire would show at once.
    const Time local{seconds(prng_.between(1, 2'000'000'000)).ns};
    machines_.push_back(std::make_unique<SimMachine>(*this, i, machine_spec(i, options),
                                                     DriftClock(local, heap_.now(), drift)));
  }
  server_.start();
  for (auto& machine : machines_) machine->start_agent();
}

SimMachine* World::machine_named(const std::string& name) {
  for (auto& machine : machines_) {
    if (machine->spec().name == name) return machine.get();
  }
  return nullptr;
}

void World::trace(const std::string& who, const std::string& text) {
  trace_.line(elapsed(), who, text);
}

Duration World::elapsed() const { return heap_.now() - start_; }

void World::each_checker(const std::function<void(Checker&)>& visit) {
  for (auto& checker : checkers_) visit(*checker);
}

std::vector<std::string> World::violations() const {
  std::vector<std::string> all;
  for (const auto& checker : checkers_) {
    for (const std::string& text : checker->violations()) {
      all.push_back(std::string(checker->name()) + ": " + text);
    }
  }
  return all;
}

Duration World::network_delay() {
  return nanoseconds(prng_.between(options_.delay_min.ns, options_.delay_max.ns));
}

void World::transmit(int32_t machine, std::function<void()> deliver) {
  if (machines_[static_cast<size_t>(machine)]->partitioned() || chance(faults_.lose)) return;
  Duration delay = network_delay();
  if (chance(faults_.reorder)) delay = delay + nanoseconds(prng_.between(0, faults_.late_max.ns));
  if (chance(faults_.duplicate)) {
    heap_.after(delay + nanoseconds(prng_.between(0, faults_.late_max.ns)), deliver);
  }
  heap_.after(delay, std::move(deliver));
}

uint64_t World::connect(int32_t machine) {
  if (!server_.up() || machines_[static_cast<size_t>(machine)]->partitioned()) return 0;
  const uint64_t connection = next_connection_++;
  server_.connection_opened(connection, machine);
  return connection;
}

void World::to_server(int32_t machine, uint64_t connection, cluster::EventBody body) {
  transmit(machine, [this, connection, body = std::move(body)] {
    if (server_.up() && server_.knows(connection)) server_.feed(body);
  });
}

void World::to_machine(int32_t machine, uint64_t connection, ServerMessage message) {
  transmit(machine, [this, machine, connection, message = std::move(message)] {
    machines_[static_cast<size_t>(machine)]->receive(connection, message);
  });
}

void World::break_connection(int32_t machine, uint64_t connection) {
  const Duration hidden =
      machines_[static_cast<size_t>(machine)]->partitioned() ? seconds(15) : Duration{};
  heap_.after(hidden + network_delay(), [this, machine, connection] {
    machines_[static_cast<size_t>(machine)]->connection_broken(connection);
    server_.connection_broken(connection);
  });
}

void World::command(cluster::CommandBody body,
                    std::function<void(const cluster::Reply&)> answered) {
  const uint64_t request = next_request_++;
  requests_[request] = {std::move(body), std::move(answered)};
  send_command(request);
}

void World::send_command(uint64_t request) {
  const auto found = requests_.find(request);
  if (found == requests_.end()) return;
  heap_.after(network_delay(), [this, request, body = found->second.body] {
    if (server_.up()) server_.feed(cluster::Command{request, body});
  });
  heap_.after(seconds(2), [this, request] { send_command(request); });
}

void World::reply(const cluster::Reply& reply) {
  if (chance(faults_.lose)) return;
  heap_.after(network_delay(), [this, reply] {
    const auto found = requests_.find(reply.request);
    if (found == requests_.end()) return;
    if (const auto* submit = std::get_if<cluster::SubmitJob>(&found->second.body)) {
      if (reply.result.ok()) {
        each_checker([&](Checker& c) { c.acknowledged(*reply.result, submit->token); });
      }
    }
    const auto answered = std::move(found->second.answered);
    requests_.erase(found);
    if (answered) answered(reply);
  });
}

}  // namespace keiko::sim
