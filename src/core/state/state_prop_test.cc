// Random histories, sensible and senseless, against what must hold of every one of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "core/state/state_fixture.h"

namespace keiko {
namespace {

/// Draws events that often fit the state they meet, and often do not.
class HistoryDraw {
 public:
  HistoryDraw(uint64_t seed, Tables& tables) : prng_(seed), tables_(tables) {}

  StateBody next() {
    switch (prng_.below(17)) {
      case 0: return ServerStarted{tables_.state.term + prng_.below(3)};
      case 1: return NodeJoined{some_node(), node()};
      case 2: return NodeLost{some_node()};
      case 3: return NodeDuty{some_node(), prng_.chance(1, 4), prng_.chance(1, 4), "drawn"};
      case 4:
      case 5: return submit();
      case 6:
      case 7:
      case 8: return place();
      case 9:
        return RendezvousReady{some_job(), attempt(), static_cast<int32_t>(prng_.below(70000))};
      case 10: return WorkerStarted{key()};
      case 11:
      case 12: return WorkerEnded{key(), end()};
      case 13: return stop_or_line();
      case 14: return conclude();
      case 15: return NodeForgotten{some_node(), "drawn"};
      default: return CheckpointCommitted{some_job(), attempt(), {prng_.between(-1, 50), "ref"}};
    }
  }

 private:
  State& state() { return tables_.state; }
  NodeId some_node() { return {prng_.below(7)}; }
  int32_t small(int64_t low, int64_t high) {
    return static_cast<int32_t>(prng_.between(low, high));
  }

  /// Mostly a job of the last few, so that events meet.
  JobId some_job() {
    focus_ = JobId{prng_.below(std::min<uint64_t>(state().next_job + 1, 12))};
    return focus_;
  }
  int32_t attempt() {
    const auto found = state().jobs.find(focus_);
    const int32_t known = found == state().jobs.end() ? 1 : found->second.attempt;
    return known + (prng_.chance(1, 8) ? small(-1, 1) : 0);
  }
  WorkerKey key() {
    const JobId job = some_job();
    return {job, attempt(), small(-1, 3)};
  }

  NodeSpec node() {
    const char* const names[] = {"a", "b", "c", "d", "e", ""};
    NodeSpec spec =
        node_spec(names[prng_.below(6)], small(0, 4), prng_.chance(1, 2) ? "cpu" : "h100");
    if (prng_.chance(1, 10)) spec.cpu_milli = prng_.between(-5, 3000);
    if (prng_.chance(1, 20) && !spec.devices.empty()) spec.devices.back().index = small(-1, 9);
    return spec;
  }

  JobSubmitted submit() {
    JobSpec spec = job_spec(small(prng_.chance(1, 10) ? -1 : 1, 3), small(0, 2));
    spec.cpu_milli = prng_.between(0, 4000);
    spec.memory = gibibytes(prng_.between(0, 12));
    if (prng_.chance(1, 6)) spec.device_kind = "h100";
    if (prng_.chance(1, 6)) spec.one_node = true;
    const bool in_order = !prng_.chance(1, 8);
    return {{in_order ? state().next_job : prng_.below(9)}, spec,
            prng_.chance(1, 3) ? "t" + std::to_string(prng_.below(20)) : ""};
  }

  JobPlaced place() {
    JobPlaced placed;
    placed.job = some_job();
    placed.attempt = attempt() + 1;
    const auto found = state().jobs.find(placed.job);
    const JobSpec spec = found == state().jobs.end() ? job_spec(1, 1) : found->second.spec;
    const int32_t ranks = prng_.chance(1, 8) ? small(0, 4) : spec.workers;
    for (int32_t rank = 0; rank < ranks; ++rank) placed.placements.push_back(placement(rank, spec));
    return placed;
  }

  Placement placement(int32_t rank, const JobSpec& spec) {
    Placement place{rank, {1 + prng_.below(5)}, {}};
    const auto node = state().nodes.find(place.node);
    if (node == state().nodes.end() || prng_.chance(1, 10)) {
      place.devices = {small(-1, 5)};
      return place;
    }
    const auto& taken = node->second.device_taken;
    for (size_t i = 0; i < taken.size(); ++i) {
      const bool enough = place.devices.size() == static_cast<size_t>(spec.devices);
      if (!enough && (!taken[i] || prng_.chance(1, 20))) {
        place.devices.push_back(static_cast<int32_t>(i));
      }
    }
    return place;
  }

  WorkerEnd end() {
    WorkerEnd end;
    end.cause = static_cast<EndCause>(prng_.below(9));
    end.exit_code = small(0, 2);
    return end;
  }

  StateBody stop_or_line() {
    const JobId job = some_job();
    switch (prng_.below(4)) {
      case 0: return JobCancelled{job, "drawn"};
      case 1: return JobHeld{job, "drawn"};
      case 2: return JobReleased{job, ""};
      default:
        return JobStopping{job, attempt(), static_cast<StopIntent>(prng_.below(6)), Reason::kNone,
                           ""};
    }
  }

  AttemptEnded conclude() {
    AttemptEnded ended;
    ended.job = some_job();
    ended.attempt = attempt();
    ended.outcome = static_cast<AttemptOutcome>(prng_.below(7));
    ended.user_fault = prng_.chance(1, 2);
    return ended;
  }

  Prng prng_;
  Tables& tables_;
  JobId focus_;
};

/// A history of `steps` drawn events. RETURNS: how many were accepted of each kind.
std::map<size_t, int> draw_history(uint64_t seed, int steps, Tables& tables) {
  HistoryDraw draw(seed, tables);
  std::map<size_t, int> accepted;
  for (int i = 0; i < steps; ++i) {
    StateBody body = draw.next();
    const size_t kind = body.index();
    const std::string before = encode_state(tables.state);
    if (tables.apply(std::move(body)).ok()) {
      ++accepted[kind];
      const Done sound = check_state(tables.state);
      EXPECT_TRUE(sound.ok()) << "seed " << seed << " step " << i << ": " << sound.error().text();
      if (!sound.ok()) return accepted;
    } else {
      EXPECT_EQ(encode_state(tables.state), before) << "seed " << seed << " step " << i;
    }
  }
  return accepted;
}

TEST(StateHistory, stays_sound_whatever_events_come) {
  std::map<size_t, int> accepted;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Tables tables;
    for (const auto& [kind, count] : draw_history(seed, 600, tables)) accepted[kind] += count;
  }
  // A property that no event reaches would prove nothing: all kinds but OptionsChanged are drawn.
  EXPECT_EQ(accepted.size(), std::variant_size_v<StateBody> - 1);
}

TEST(StateHistory, gives_the_same_digest_when_its_journal_is_replayed) {
  for (uint64_t seed = 100; seed < 130; ++seed) {
    Tables tables;
    draw_history(seed, 400, tables);
    State replayed;
    for (const std::string& record : tables.journal) {
      const StateEvent event = MUST(decode_event(record));
      EXPECT_EQ(encode_event(event), record);
      MUST(apply(replayed, event));
    }
    EXPECT_EQ(digest_of(replayed), digest_of(tables.state)) << "seed " << seed;
  }
}

TEST(StateHistory, goes_on_the_same_from_a_snapshot) {
  for (uint64_t seed = 200; seed < 220; ++seed) {
    Tables first;
    draw_history(seed, 300, first);
    Tables second = first;
    second.state = MUST(decode_state(encode_state(first.state)));
    EXPECT_EQ(digest_of(second.state), digest_of(first.state));
    EXPECT_TRUE(check_state(second.state).ok());
    draw_history(seed + 1000, 300, first);
    draw_history(seed + 1000, 300, second);
    EXPECT_EQ(digest_of(second.state), digest_of(first.state)) << "seed " << seed;
    EXPECT_EQ(second.journal, first.journal);
  }
}

void damage(std::string& bytes, Prng& prng) {
  for (uint64_t n = 1 + prng.below(4); n > 0; --n) {
    const size_t at = prng.below(bytes.size());
    switch (prng.below(3)) {
      case 0: bytes[at] = static_cast<char>(prng.below(256)); break;
      case 1: bytes.erase(at, 1 + prng.below(8)); break;
      default: bytes.insert(at, 1, static_cast<char>(prng.below(256))); break;
    }
    if (bytes.empty()) bytes = "x";
  }
}

TEST(DamagedBytes, are_refused_or_read_as_a_sound_state) {
  Tables tables;
  draw_history(7, 800, tables);
  const std::string good = encode_state(tables.state);
  Prng prng(11);
  for (int i = 0; i < 1500; ++i) {
    std::string bytes = good;
    damage(bytes, prng);
    const Result<State> state = decode_state(bytes);
    if (!state.ok()) {
      EXPECT_EQ(state.error().code, Code::kDataLoss);
      continue;
    }
    const Done sound = check_state(*state);
    EXPECT_TRUE(sound.ok()) << sound.error().text();
  }
}

TEST(DamagedBytes, of_an_event_are_refused_or_cannot_harm_the_state) {
  Tables tables;
  draw_history(8, 800, tables);
  ASSERT_FALSE(tables.journal.empty());
  Prng prng(12);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = tables.journal[prng.below(tables.journal.size())];
    damage(bytes, prng);
    const Result<StateEvent> event = decode_event(bytes);
    if (!event.ok()) continue;
    to_text(*event);
    State state = tables.state;
    if (!apply(state, *event).ok()) continue;
    const Done sound = check_state(state);
    EXPECT_TRUE(sound.ok()) << sound.error().text() << " after " << to_text(*event);
  }
}

}  // namespace
}  // namespace keiko
