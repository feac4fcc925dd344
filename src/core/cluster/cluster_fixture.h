// A pool for the tests of the cluster brain: agents that obey when they are told to, a journal, and
// words to ask what a step did. Time passes only when a test says so.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster/cluster_brain.h"
#include "core/state/state_fixture.h"

namespace keiko::cluster {

/// One agent: its stream, and the workers that it would report.
struct TestAgent {
  NodeSpec spec;
  NodeId node;
  uint64_t connection = 0;
  Session session;
  uint64_t sequence = 0;
  std::map<WorkerKey, WorkerReport> workers;
};

class TestPool {
 public:
  TestPool() : brain_(State{}, 1, now_) { collect(brain_.start(now_)); }
  ~TestPool() { check_sound(); }
  TestPool(const TestPool&) = delete;
  TestPool& operator=(const TestPool&) = delete;

  Time now() const { return now_; }
  const ClusterBrain& brain() const { return brain_; }
  const State& state() const { return brain_.state(); }
  const JobState& job(JobId id) const { return state().jobs.at(id); }
  TestAgent& agent(const std::string& name) { return agents_.at(name); }
  const std::vector<std::string>& journal() const { return journal_; }

  /// One event, then a wake, as a shell with an empty queue does. The effects of both are kept.
  const Effects& feed(EventBody body) {
    effects_.clear();
    collect(brain_.step({now_, std::move(body)}));
    collect(brain_.step({now_, Wake{}}));
    return effects_;
  }
  /// One event alone.
  const Effects& step(EventBody body) {
    effects_.clear();
    collect(brain_.step({now_, std::move(body)}));
    return effects_;
  }

  void join(const std::string& name, int32_t devices) {
    agents_[name].spec = node_spec(name, devices);
    hello(name);
  }
  void hello(const std::string& name) {
    TestAgent& agent = agents_.at(name);
    agent.connection = ++last_connection_;
    agent.session = {};
    AgentHello hello{agent.spec, {}};
    for (const auto& [key, worker] : agent.workers) hello.workers.push_back(worker);
    feed(HelloReceived{agent.connection, hello});
    agent.node = state().node_by_name.contains(name) ? state().node_by_name.at(name) : NodeId{};
  }
  AgentReport next_report(const std::string& name) {
    TestAgent& agent = agents_.at(name);
    AgentReport report{agent.session, ++agent.sequence, {}};
    for (const auto& [key, worker] : agent.workers) report.workers.push_back(worker);
    return report;
  }
  const Effects& report(const std::string& name) {
    const AgentReport report = next_report(name);
    return feed(ReportReceived{agents_.at(name).connection, report});
  }
  /// Time goes on in steps of a second; the agents named in `silent` say nothing meanwhile.
  void pass(Duration duration, const std::vector<std::string>& silent = {}) {
    Effects all;
    const Time until = now_ + duration;
    while (now_ < until) {
      now_ = std::min(until, now_ + seconds(1));
      for (const auto& [name, agent] : agents_) {
        const bool quiet = std::find(silent.begin(), silent.end(), name) != silent.end();
        if (quiet || agent.connection == 0) continue;
        report(name);
        all.insert(all.end(), effects_.begin(), effects_.end());
      }
      feed(Wake{});
      all.insert(all.end(), effects_.begin(), effects_.end());
    }
    effects_ = std::move(all);
  }

  JobId submit(const JobSpec& spec, const std::string& token = {}) {
    return MUST(command(SubmitJob{spec, token}).result);
  }
  Reply command(const CommandBody& body) {
    const uint64_t request = ++last_request_;
    const EventBody event{std::in_place_type<Command>, request, body};
    feed(event);
    std::vector<Reply> replies = all<Reply>();
    EXPECT_EQ(replies.size(), 1u) << "every command has exactly one reply";
    EXPECT_EQ(replies.at(0).request, request);
    return replies.at(0);
  }
  Reply act(JobId id, JobAction action) { return command(ActOnJob{id, action, ""}); }

  /// The agent's word about one of its workers, reported at once.
  void says(const std::string& name, const WorkerKey& key, WorkerStatus status) {
    WorkerReport& worker = agents_.at(name).workers[key];
    worker.key = key;
    worker.status = status;
    report(name);
  }
  void ends(const std::string& name, const WorkerKey& key, EndCause cause, int32_t number = 0) {
    WorkerReport& worker = agents_.at(name).workers[key];
    worker.end.cause = cause;
    (cause == EndCause::kSignalled ? worker.end.signal : worker.end.exit_code) = number;
    says(name, key, WorkerStatus::kEnded);
  }
  /// Every rank of the job's attempt is reported running.
  void runs(JobId id) {
    const JobState& gang = job(id);
    for (const WorkerState& worker : std::vector<WorkerState>(gang.workers)) {
      says(state().nodes.at(worker.place.node).spec.name, key(id, worker.place.rank),
           WorkerStatus::kRunning);
    }
  }
  std::string node_of(JobId id, int32_t rank) const {
    return state().nodes.at(job(id).workers.at(static_cast<size_t>(rank)).place.node).spec.name;
  }
  WorkerKey key(JobId id, int32_t rank) const { return {id, job(id).attempt, rank}; }

  /// The server dies and another takes over from what the journal says.
  void restart_server() {
    State state;
    for (const std::string& record : journal_) {
      const StateEvent event = MUST(decode_event(record));
      MUST(apply(state, event));
    }
    EXPECT_EQ(digest_of(state), brain_.digest());
    State stored = MUST(decode_state(encode_state(state)));
    effects_.clear();
    brain_ = ClusterBrain(std::move(stored), state.term + 1, now_);
    collect(brain_.start(now_));
    collect(brain_.step({now_, Wake{}}));
    for (auto& [name, agent] : agents_) agent.connection = 0;
  }

  // What the last call did.
  const Effects& effects() const { return effects_; }
  template <class E>
  std::vector<E> all() const {
    std::vector<E> found;
    for (const Effect& effect : effects_) {
      if (const auto* one = std::get_if<E>(&effect)) found.push_back(*one);
    }
    return found;
  }
  /// Messages of one kind to one node.
  template <class Body>
  std::vector<Body> sent(const std::string& name) const {
    std::vector<Body> found;
    for (const Send& send : all<Send>()) {
      const auto* body = std::get_if<Body>(&send.message.body);
      if (body != nullptr && send.connection == agents_.at(name).connection) found.push_back(*body);
    }
    return found;
  }
  template <class Body>
  std::vector<Body> persisted() const {
    std::vector<Body> found;
    for (const Persist& persist : all<Persist>()) {
      if (const auto* body = std::get_if<Body>(&persist.event.body)) found.push_back(*body);
    }
    return found;
  }
  size_t notes(const std::string& name) const {
    size_t count = 0;
    for (const Note& note : all<Note>()) count += note.name == name;
    return count;
  }
  /// RETURNS: the place of the first effect that `matches`, or SIZE_MAX.
  template <class Predicate>
  size_t position(Predicate matches) const {
    for (size_t i = 0; i < effects_.size(); ++i) {
      if (matches(effects_[i])) return i;
    }
    return SIZE_MAX;
  }

  /// The state is sound, and its journal says the same.
  void check_sound() const {
    const Done sound = check_state(state());
    EXPECT_TRUE(sound.ok()) << sound.error().text();
    State replayed;
    for (const std::string& record : journal_) {
      const StateEvent event = MUST(decode_event(record));
      MUST(apply(replayed, event));
    }
    EXPECT_EQ(digest_of(replayed), brain_.digest());
  }

 private:
  void collect(Effects effects) {
    for (Effect& effect : effects) {
      if (const auto* persist = std::get_if<Persist>(&effect)) {
        journal_.push_back(encode_event(persist->event));
      } else if (const auto* send = std::get_if<Send>(&effect)) {
        obey(*send);
      } else if (const auto* note = std::get_if<Note>(&effect)) {
        EXPECT_NE(note->name, "event_refused") << note->text;
      }
      effects_.push_back(std::move(effect));
    }
  }
  void obey(const Send& send) {
    for (auto& [name, agent] : agents_) {
      if (agent.connection != send.connection) continue;
      if (std::holds_alternative<Welcome>(send.message.body)) {
        agent.session = send.message.session;
        agent.sequence = 0;
      } else if (const auto* start = std::get_if<StartWorker>(&send.message.body)) {
        agent.workers[start->launch.key].key = start->launch.key;
      } else if (const auto* forget = std::get_if<ForgetWorker>(&send.message.body)) {
        agent.workers.erase(forget->key);
      }
    }
  }

  Time now_{seconds(1000).ns};
  ClusterBrain brain_;
  std::map<std::string, TestAgent> agents_;
  std::vector<std::string> journal_;
  Effects effects_;
  uint64_t last_connection_ = 0;
  uint64_t last_request_ = 0;
};

}  // namespace keiko::cluster
