// What the judge costs: from the bytes of a fault's line to the decision, a quiet tick, the state
// as bytes.
#include <benchmark/benchmark.h>

#include "core/health/health_brain.h"
#include "core/health/log/kernel_line.h"

namespace keiko::health {
namespace {

constexpr Time kNow{hours(1000).ns};

HealthBrain eight_devices() {
  HealthBrain brain;
  DevicesFound found{"a", {}, "boot"};
  for (int i = 0; i < 8; ++i) {
    const std::string number = std::to_string(i);
    found.devices.push_back({"GPU-" + number, "0000:c" + number + ":00.0", "", -1});
  }
  brain.step({kNow, found});
  return brain;
}

std::string fault_line(int64_t number) {
  return "3," + std::to_string(number) + "," + std::to_string(number * 1000) +
         ",-;NVRM: Xid (PCI:0000:c1:00): 119, pid=7, name=python, Timeout waiting for RPC";
}

void fault_line_to_decision(benchmark::State& state) {
  const HealthBrain fresh = eight_devices();
  const LogPlace place{"a", "boot", kNow - seconds(10)};
  const std::string line = fault_line(1);
  for (auto _ : state) {
    state.PauseTiming();
    HealthBrain brain = fresh;
    state.ResumeTiming();
    const auto seen = read_kernel_record(MUST(parse_kernel_record(line)), place);
    benchmark::DoNotOptimize(brain.step({kNow, Observed{seen}}));
  }
}
BENCHMARK(fault_line_to_decision);

void chatter_line(benchmark::State& state) {
  const LogPlace place{"a", "boot", kNow};
  const std::string line = "6,1,1000,-;mlx5_core 0000:5e:00.0: Port module event: module 0, Cable";
  for (auto _ : state) {
    benchmark::DoNotOptimize(read_kernel_record(MUST(parse_kernel_record(line)), place));
  }
}
BENCHMARK(chatter_line);

void quiet_tick(benchmark::State& state) {
  HealthBrain brain = eight_devices();
  Time now = kNow;
  for (auto _ : state) {
    now = now + seconds(1);
    benchmark::DoNotOptimize(brain.step({now, Observed{}}));
  }
}
BENCHMARK(quiet_tick);

void state_to_bytes(benchmark::State& state) {
  HealthBrain brain = eight_devices();
  const LogPlace place{"a", "boot", kNow};
  for (int64_t i = 1; i <= 1000; ++i) {
    const auto seen = read_kernel_record(MUST(parse_kernel_record(fault_line(i))), place);
    brain.step({kNow + milliseconds(i), Observed{seen}});
  }
  for (auto _ : state) benchmark::DoNotOptimize(encode_health(brain.state()));
  state.counters["bytes"] = static_cast<double>(encode_health(brain.state()).size());
}
BENCHMARK(state_to_bytes);

}  // namespace
}  // namespace keiko::health
