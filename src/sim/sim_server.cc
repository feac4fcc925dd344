#include "sim/sim_server.h"

#include <algorithm>

#include "sim/world.h"

namespace keiko::sim {
namespace {

void apply_record(State& state, const std::string& record) {
  const StateEvent event = MUST(decode_event(record));
  MUST(apply(state, event));
}

}  // namespace

SimServer::SimServer(World& world, DriftClock clock) : world_(world), clock_(clock) {}

Time SimServer::local_now() const { return clock_.local(world_.heap().now()); }

State SimServer::replay() const {
  State state;
  for (const std::string& record : journal_) apply_record(state, record);
  return state;
}

void SimServer::start() {
  State state;
  size_t from = 0;
  if (!snapshot_.empty()) {
    state = MUST(decode_state(snapshot_));
    from = snapshot_records_;
  }
  for (size_t i = from; i < journal_.size(); ++i) {
    apply_record(state, journal_[i]);
  }
  const Digest restored = digest_of(state);
  const Digest replayed = digest_of(replay());
  world_.each_checker([&](Checker& c) { c.replayed(restored, replayed); });
  ++term_;
  world_.trace("server", "server_up term=" + std::to_string(term_));
  brain_.emplace(std::move(state), term_, local_now());
  if (carry_out(brain_->start(local_now()))) feed(cluster::Wake{});
}

void SimServer::crash(const std::string& why) {
  if (!up()) return;
  world_.trace("fault", "server_crash " + why);
  brain_.reset();
  wake_.reset();
  const auto machines = std::move(machines_);
  machines_.clear();
  for (const auto& [connection, machine] : machines) {
    world_.break_connection(machine, connection);
  }
}

void SimServer::feed(cluster::EventBody body) {
  step(std::move(body));
  if (up()) step(cluster::Wake{});
}

void SimServer::step(cluster::EventBody body) {
  if (!up()) return;
  if (carry_out(brain_->step(cluster::Event{local_now(), std::move(body)}))) {
    world_.each_checker([&](Checker& c) { c.server_stepped(state()); });
  }
}

bool SimServer::carry_out(const cluster::Effects& effects) {
  for (const cluster::Effect& effect : effects) {
    if (world_.chance(world_.faults().crash_before_effect)) {
      crash("between effects");
      const Duration down = milliseconds(world_.prng().between(50, 15'000));
      world_.heap().after(down, [this] { if (!up()) start(); });
      return false;
    }
    carry_out_one(effect);
  }
  return true;
}

void SimServer::carry_out_one(const cluster::Effect& effect) {
  if (const auto* persisted = std::get_if<cluster::Persist>(&effect)) {
    persist(persisted->event);
  } else if (const auto* send = std::get_if<cluster::Send>(&effect)) {
    const auto machine = machines_.find(send->connection);
    if (machine != machines_.end()) {
      world_.to_machine(machine->second, send->connection, send->message);
    }
  } else if (const auto* closed = std::get_if<cluster::CloseConnection>(&effect)) {
    const auto machine = machines_.find(closed->connection);
    if (machine != machines_.end()) {
      world_.break_connection(machine->second, closed->connection);
    }
  } else if (const auto* reply = std::get_if<cluster::Reply>(&effect)) {
    world_.reply(*reply);
  } else if (const auto* wake = std::get_if<cluster::WakeAt>(&effect)) {
    if (wake_ && *wake_ <= wake->at && *wake_ > local_now()) return;
    wake_ = wake->at;
    world_.heap().at(clock_.virtual_at(wake->at), [this, at = wake->at] {
      if (!up() || wake_ != at) return;
      wake_.reset();
      step(cluster::Wake{});
    });
  } else if (const auto* note = std::get_if<cluster::Note>(&effect)) {
    world_.trace("server", note->name + (note->text.empty() ? "" : " ") + note->text);
  }
}

void SimServer::persist(const StateEvent& event) {
  journal_.push_back(encode_event(event));
  const int32_t every = world_.options().snapshot_every;
  if (every > 0 && journal_.size() - snapshot_records_ >= static_cast<size_t>(every)) {
    take_snapshot();
  }
}

// Between two Persist effects of one step the brain is already ahead of the journal, so the
// snapshot is taken of what the journal says, as a real server does between batches.
void SimServer::take_snapshot() {
  State state;
  if (!snapshot_.empty()) state = MUST(decode_state(snapshot_));
  for (size_t i = snapshot_records_; i < journal_.size(); ++i) {
    apply_record(state, journal_[i]);
  }
  snapshot_ = encode_state(state);
  snapshot_records_ = journal_.size();
}

void SimServer::connection_opened(uint64_t connection, int32_t machine) {
  machines_[connection] = machine;
}

void SimServer::connection_broken(uint64_t connection) {
  if (machines_.erase(connection) > 0) feed(cluster::ConnectionClosed{connection});
}

}  // namespace keiko::sim
