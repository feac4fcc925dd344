// Durable appends of the journal beside what the disk itself allows, in one run.
//
//   append/N   one client, batches of N records of 200 bytes, each batch flushed
//   snapshot/N a state of N MiB stored in place of 1,000 records
//   replay     records read back, as a server does when it starts
//
// records/s        acknowledged records per second
// flush_growing/s  write + fdatasync of the same bytes at the end of a growing file
// flush_in_place/s the same into blocks that are there already: the most a log can reach
// of_growing, of_in_place: batches per second as parts of these two
//
// The three take turns in slices, so that a noisy neighbour slows all of them. KEIKO_BENCH_DIR
// names another disk than /tmp's.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include <benchmark/benchmark.h>

#include "drivers/journal/sqlite/sqlite_journal.h"

namespace keiko {
namespace {

constexpr size_t kRecordSize = 200;  // a submitted job is about that long
constexpr int kSlice = 64;           // flushes before the next of the three has its turn

class BenchFolder {
 public:
  BenchFolder() {
    const char* root = std::getenv("KEIKO_BENCH_DIR");
    path_ = std::string(root != nullptr ? root : "/tmp") + "/keiko_bench_XXXXXX";
    CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~BenchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Writes and flushes the same bytes again and again.
class RawFile {
 public:
  RawFile(const std::string& path, size_t size, int64_t ready_writes)
      : bytes_(size, 'x'),
        file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
        wrap_(static_cast<off_t>(size) * ready_writes) {
    CHECK(file_ >= 0);
    for (int64_t i = 0; i < ready_writes; ++i) write_once();
    CHECK(fsync(file_) == 0);
    at_ = 0;
  }
  ~RawFile() { close(file_); }

  void flush_once() {
    write_once();
    CHECK(fdatasync(file_) == 0);
  }

 private:
  void write_once() {
    if (wrap_ > 0 && at_ >= wrap_) at_ = 0;
    CHECK(pwrite(file_, bytes_.data(), bytes_.size(), at_) == static_cast<ssize_t>(bytes_.size()));
    at_ += static_cast<off_t>(bytes_.size());
  }

  std::string bytes_;
  int file_;
  off_t wrap_;  // 0: the file grows for ever
  off_t at_ = 0;
};

template <class Work>
double seconds_of(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kSlice; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void append(benchmark::State& state) {
  BenchFolder folder;
  const auto batch_size = static_cast<size_t>(state.range(0));
  auto journal = MUST(open_sqlite_journal({.directory = folder.path()}));
  MUST(journal->acquire());
  const std::vector<std::string> batch(batch_size, std::string(kRecordSize, 'r'));
  RawFile growing(folder.path() + "/growing", batch_size * kRecordSize, 0);
  RawFile in_place(folder.path() + "/in_place", batch_size * kRecordSize, 1024);
  double journal_s = 0;
  double growing_s = 0;
  double in_place_s = 0;
  for (auto _ : state) {
    const double slice_s = seconds_of([&] { MUST(journal->append(batch)); });
    growing_s += seconds_of([&] { growing.flush_once(); });
    in_place_s += seconds_of([&] { in_place.flush_once(); });
    journal_s += slice_s;
    state.SetIterationTime(slice_s);
  }
  const double flushes = static_cast<double>(state.iterations()) * kSlice;
  state.counters["records/s"] = flushes * static_cast<double>(batch_size) / journal_s;
  state.counters["flush_growing/s"] = flushes / growing_s;
  state.counters["flush_in_place/s"] = flushes / in_place_s;
  state.counters["of_growing"] = growing_s / journal_s;
  state.counters["of_in_place"] = in_place_s / journal_s;
}
BENCHMARK(append)->RangeMultiplier(4)->Range(1, 256)->UseManualTime();

void snapshot(benchmark::State& state) {
  BenchFolder folder;
  auto journal = MUST(open_sqlite_journal({.directory = folder.path()}));
  MUST(journal->acquire());
  const std::string bytes(static_cast<size_t>(state.range(0)) << 20, 's');
  const std::vector<std::string> batch(100, std::string(kRecordSize, 'r'));
  uint64_t last = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < 10; ++i) MUST(journal->append(batch));
    last += 10 * batch.size();
    state.ResumeTiming();
    MUST(journal->snapshot(last, bytes));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes.size()));
}
BENCHMARK(snapshot)->Arg(1)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond)->UseRealTime();

void replay(benchmark::State& state) {
  BenchFolder folder;
  auto journal = MUST(open_sqlite_journal({.directory = folder.path()}));
  MUST(journal->acquire());
  constexpr uint64_t kRecords = 256 * 400;
  const std::vector<std::string> batch(256, std::string(kRecordSize, 'r'));
  for (uint64_t i = 0; i < kRecords; i += batch.size()) MUST(journal->append(batch));
  for (auto _ : state) {
    uint64_t next = 1;
    while (next <= kRecords) next += MUST(journal->read(next, 1024)).size();
  }
  state.counters["records/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(kRecords),
      benchmark::Counter::kIsRate);
}
BENCHMARK(replay)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace keiko
