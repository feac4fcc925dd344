// Time of one scheduling pass: nodes of 8 devices, half of them taken, and a line of pending gangs.
#include <benchmark/benchmark.h>

#include "base/prng.h"
#include "core/sched/sched_fixture.h"

namespace keiko::sched {
namespace {

State busy_pool(int64_t nodes, int64_t jobs) {
  State state;
  Prng prng(7);
  for (int64_t i = 0; i < nodes; ++i) {
    NodeState& node = add_node(state, "n" + std::to_string(i), 8);
    for (auto&& taken : node.device_taken) taken = prng.chance(1, 2);
    for (int32_t a = 0; a < 8; a += 2) add_link(node, a, a + 1, 300'000);
  }
  for (int64_t i = 0; i < jobs; ++i) {
    add_job(state, static_cast<int32_t>(1 + prng.below(4)),
            static_cast<int32_t>(1 + prng.below(8)));
  }
  return state;
}

void pass(benchmark::State& bench) {
  const State state = busy_pool(bench.range(0), bench.range(1));
  size_t placed = 0;
  for (auto _ : bench) placed = schedule(state, {}).starts.size();
  bench.counters["placed"] = static_cast<double>(placed);
  bench.counters["jobs/s"] = benchmark::Counter(static_cast<double>(bench.range(1)),
                                                benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(pass)
    ->Args({1'000, 100})
    ->Args({1'000, 10'000})
    ->Args({10'000, 100})
    ->Args({10'000, 10'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace keiko::sched
