// What the history costs: 100 nodes of 8 devices with 8 metrics each and 7 of their own, as the
// server writes them (each span at three steps), on the disk of KEIKO_BENCH_DIR, else /tmp.
//
//   append         a span of 10 s of all 100 nodes in one transaction; rows/s counts 10 s spans
//   read_6h        six hours of one node at 10 s, beside those of the others
//   bytes_per_row  of the file
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/prng.h"
#include "drivers/history/sqlite/sqlite_history.h"

namespace keiko {
namespace {

constexpr int kNodes = 100;
constexpr int kDevices = 8;
constexpr std::array kSteps{seconds(10), minutes(1), minutes(15)};
constexpr std::array kDeviceMetrics{"utilisation_ratio",   "sm_active_ratio",
                                    "tensor_active_ratio", "memory_used_bytes",
                                    "temperature_celsius", "power_watts",
                                    "power_limit_watts",   "dram_active_ratio"};
constexpr std::array kNodeMetrics{"cpu_utilisation_ratio", "memory_available_bytes", "load_1m",
                                  "pressure_cpu_some_ratio", "pressure_memory_some_ratio",
                                  "pressure_io_some_ratio", "state_disk_free_bytes"};

class Folder {
 public:
  Folder() {
    const char* root = std::getenv("KEIKO_BENCH_DIR");
    path_ = std::string(root != nullptr ? root : "/tmp") + "/keiko_history_bench_XXXXXX";
    CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Bucket bucket_of(Prng& prng) {
  const double mean = static_cast<double>(prng.below(1'000'000));
  return {mean * 0.9, mean * 1.1, mean, 10};
}

std::vector<HistoryRow> rows_at(int64_t span, Prng& prng) {
  std::vector<HistoryRow> rows;
  for (int node = 0; node < kNodes; ++node) {
    SubjectBuckets subjects;
    for (const char* metric : kNodeMetrics) subjects[""][metric] = bucket_of(prng);
    for (int device = 0; device < kDevices; ++device) {
      Buckets& buckets = subjects["GPU-" + std::to_string(node * kDevices + device)];
      for (const char* metric : kDeviceMetrics) buckets[metric] = bucket_of(prng);
    }
    for (const Duration step : kSteps) {
      const WallTime at = span_begin({kSteps[0].ns * span}, step);
      rows.push_back({step, at, "node" + std::to_string(node), subjects});
    }
  }
  return rows;
}

void append(benchmark::State& state) {
  Folder folder;
  const auto history = MUST(open_sqlite_history({folder.path(), Bytes{}, Bytes{}}));
  Prng prng(1);
  int64_t span = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<HistoryRow> rows = rows_at(span++, prng);
    state.ResumeTiming();
    MUST(history->append(rows));
  }
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(span * kNodes),
                                                benchmark::Counter::kIsRate);
  state.counters["bytes_per_row"] = static_cast<double>(MUST(history->size()).count) /
                                    static_cast<double>(span * kNodes);
}
BENCHMARK(append)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(500);

void read_6h(benchmark::State& state) {
  constexpr int64_t kSpans = 6 * 360;
  Folder folder;
  const auto history = MUST(open_sqlite_history({folder.path(), Bytes{}, Bytes{}}));
  Prng prng(1);
  for (int64_t span = 0; span < kSpans; ++span) MUST(history->append(rows_at(span, prng)));
  int64_t node = 0;
  for (auto _ : state) {
    const std::string name = "node" + std::to_string(node++ % kNodes);
    const auto rows = MUST(history->read({name, kSteps[0], {}, {kSteps[0].ns * kSpans}}));
    CHECK(std::ssize(rows) == kSpans);
  }
}
BENCHMARK(read_6h)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(50);

}  // namespace
}  // namespace keiko
