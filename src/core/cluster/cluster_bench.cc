// What the brain costs by the second: every node reports once with its running workers, and one
// wake follows. `of_a_core` is the share of one core that the heartbeats of that many nodes take.
#include <benchmark/benchmark.h>

#include "core/cluster/cluster_brain.h"
#include "core/state/state_fixture.h"

namespace keiko::cluster {
namespace {

constexpr int32_t kDevices = 8;

/// A pool of nodes with one running job of 8 workers on each.
class BusyPool {
 public:
  explicit BusyPool(int64_t nodes) : brain_(State{}, 1, now_) {
    brain_.start(now_);
    for (int64_t i = 0; i < nodes; ++i) {
      const uint64_t connection = static_cast<uint64_t>(i) + 1;
      const NodeSpec spec = node_spec("n" + std::to_string(i), kDevices);
      feed(HelloReceived{connection, {spec, {}}});
    }
    for (int64_t i = 0; i < nodes; ++i) {
      feed(Command{static_cast<uint64_t>(i), SubmitJob{job_spec(kDevices, 1), ""}});
    }
    feed(Wake{});
    for (auto& [connection, report] : reports_) {
      for (WorkerReport& worker : report.workers) worker.status = WorkerStatus::kRunning;
    }
  }

  /// All nodes report, spread over one second, and a wake comes at its end.
  void pass_second() {
    for (auto& [connection, report] : reports_) {
      now_ = now_ + nanoseconds(1'000'000'000 / static_cast<int64_t>(reports_.size()));
      ++report.sequence;
      feed(ReportReceived{connection, report});
    }
    feed(Wake{});
  }

  size_t running() const {
    size_t count = 0;
    for (const JobId id : brain_.state().active) {
      count += brain_.state().jobs.at(id).status == JobStatus::kRunning;
    }
    return count;
  }

 private:
  void feed(EventBody body) {
    for (const Effect& effect : brain_.step({now_, std::move(body)})) {
      const auto* send = std::get_if<Send>(&effect);
      if (send == nullptr) continue;
      if (std::holds_alternative<Welcome>(send->message.body)) {
        reports_[send->connection].session = send->message.session;
      } else if (const auto* start = std::get_if<StartWorker>(&send->message.body)) {
        WorkerReport worker;
        worker.key = start->launch.key;
        reports_[send->connection].workers.push_back(worker);
      }
    }
  }

  Time now_{seconds(1000).ns};
  ClusterBrain brain_;
  std::map<uint64_t, AgentReport> reports_;
};

void heartbeats(benchmark::State& bench) {
  BusyPool pool(bench.range(0));
  pool.pass_second();
  if (pool.running() != static_cast<size_t>(bench.range(0))) bench.SkipWithError("not all run");
  for (auto _ : bench) pool.pass_second();
  bench.counters["reports/s"] = benchmark::Counter(static_cast<double>(bench.range(0)),
                                                   benchmark::Counter::kIsIterationInvariantRate);
  bench.counters["of_a_core"] =
      benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate |
                                benchmark::Counter::kInvert);
}
BENCHMARK(heartbeats)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace keiko::cluster
