// What a start costs. The shim is this very program, as `keiko` is its own.
//
//   start            what the caller of start() waits for
//   first_instruction  from start() until date(1) reads the clock
//   true_workers     whole lives of `true`, eight at a time
//   log_throughput   a worker that prints as fast as it can, through the shim into the log
#include <benchmark/benchmark.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "drivers/substrate/process/process_substrate.h"
#include "drivers/substrate/process/shim.h"

namespace keiko {
namespace {

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);  // what date(1) reads
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

/// Runs before anything else in the program, benchmark's flags included.
__attribute__((constructor)) void act_another_role(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "shim" && argc > 2) _exit(shim_main(argv[2]));
}

class Bench {
 public:
  explicit Bench(const std::string& cgroup_root = "/sys/fs/cgroup") {
    options_.cgroup_root = cgroup_root;
    CHECK(mkdtemp(folder_.data()) != nullptr);
    options_.state_dir = folder_;
    substrate_ = MUST(ProcessSubstrate::open(options_));
  }
  ~Bench() {
    substrate_.reset();
    std::filesystem::remove_all(folder_);
  }

  WorkerKey start(std::vector<std::string> argv) {
    WorkerProcess process;
    process.key = {JobId{1}, 1, next_rank_++};
    process.argv = std::move(argv);
    process.env = {{"PATH", "/usr/bin:/bin"}};
    process.workdir = "/";
    MUST(substrate_->start(process));
    return process.key;
  }

  /// Waits until `left` workers at most still run; forgets the others.
  void wait_until_left(size_t left) {
    while (true) {
      size_t running = 0;
      for (const ProcessState& state : substrate_->poll()) {
        if (state.status != WorkerStatus::kEnded) {
          ++running;
          continue;
        }
        CHECK(state.end.cause == EndCause::kExited && state.end.exit_code == 0);
        MUST(substrate_->forget(state.key));
      }
      if (running <= left) return;
      pollfd wait{substrate_->wake_fd(), POLLIN, 0};
      ::poll(&wait, 1, 1'000);
    }
  }

  std::string out_path(const WorkerKey& key) const { return worker_paths(folder_, key).out; }

 private:
  std::string folder_ = "/tmp/keiko-bench-XXXXXX";
  ProcessSubstrateOptions options_;
  std::unique_ptr<ProcessSubstrate> substrate_;
  int32_t next_rank_ = 0;
};

void start(benchmark::State& state) {
  Bench bench;
  for (auto _ : state) {
    bench.start({"/bin/true"});
    state.PauseTiming();
    bench.wait_until_left(0);
    state.ResumeTiming();
  }
}
BENCHMARK(start)->Iterations(300)->Unit(benchmark::kMicrosecond)->UseRealTime();

/// An agent of 1 GiB: its size must not show, as it would with fork().
void start_from_a_large_agent(benchmark::State& state) {
  std::vector<char> memory(1 << 30, 1);
  benchmark::DoNotOptimize(memory.data());
  start(state);
}
BENCHMARK(start_from_a_large_agent)
    ->Iterations(300)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

void measure_first_instruction(benchmark::State& state, Bench& bench) {
  for (auto _ : state) {
    const int64_t before = now_ns();
    const WorkerKey key = bench.start({"/bin/date", "+%s%N"});
    bench.wait_until_left(0);
    const int64_t stamp = std::atoll(process::read_file(bench.out_path(key)).value_or("0").c_str());
    state.SetIterationTime(static_cast<double>(stamp - before) * 1e-9);
  }
}

void first_instruction(benchmark::State& state) {
  Bench bench;
  measure_first_instruction(state, bench);
}
BENCHMARK(first_instruction)->Iterations(200)->Unit(benchmark::kMicrosecond)->UseManualTime();

void first_instruction_without_cgroups(benchmark::State& state) {
  Bench bench("");
  measure_first_instruction(state, bench);
}
BENCHMARK(first_instruction_without_cgroups)
    ->Iterations(200)
    ->Unit(benchmark::kMicrosecond)
    ->UseManualTime();

void whole_life(benchmark::State& state) {
  Bench bench;
  for (auto _ : state) {
    bench.start({"/bin/true"});
    bench.wait_until_left(0);
  }
}
BENCHMARK(whole_life)->Iterations(200)->Unit(benchmark::kMicrosecond)->UseRealTime();

void true_workers(benchmark::State& state) {
  Bench bench;
  for (auto _ : state) {
    bench.start({"/bin/true"});
    bench.wait_until_left(7);
  }
  bench.wait_until_left(0);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(true_workers)->Iterations(1000)->UseRealTime();

void log_throughput(benchmark::State& state) {
  Bench bench;
  constexpr int64_t kBytes = 512 << 20;
  for (auto _ : state) {
    bench.start({"/bin/sh", "-c", "head -c " + std::to_string(kBytes) + " /dev/zero"});
    bench.wait_until_left(0);
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(log_throughput)->Iterations(3)->Unit(benchmark::kMillisecond)->UseRealTime();

/// The same output straight into a file, as if the program had been given it.
void file_throughput(benchmark::State& state) {
  constexpr int64_t kBytes = 512 << 20;
  const std::string file = "/tmp/keiko-bench-file-" + std::to_string(getpid());
  for (auto _ : state) {
    const std::string command = "head -c " + std::to_string(kBytes) + " /dev/zero > " + file;
    CHECK(std::system(command.c_str()) == 0);
    unlink(file.c_str());
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(file_throughput)->Iterations(3)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace keiko
