// What DESIGN's budgets ask of the server: durable submits per second through gRPC, and a page of a
// long list.
//
// With KEIKO_BENCH_SERVER=host:port the server is another process, as bench/server.sh starts it: on
// SQLite. Without it the server runs in this process on a FAKE journal, which writes each batch to
// an unlinked file in the present directory and flushes it: quick to run, but no figure of
// SQLite's. Each figure carries the journal's name.
#include <benchmark/benchmark.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <thread>

#include "base/log.h"
#include "base/prng.h"
#include "server/testing/test_server.h"

namespace keiko::server {
namespace {

/// Every append writes its bytes to a file and flushes it; reads come from memory.
class FlushingJournal : public FakeJournal {
 public:
  explicit FlushingJournal(std::shared_ptr<FakeJournalDisk> disk) : FakeJournal(std::move(disk)) {
    char name[] = "keiko_bench_XXXXXX";
    fd_ = mkstemp(name);
    unlink(name);
  }
  ~FlushingJournal() override { close(fd_); }

  Done append(std::span<const std::string> records) override {
    for (const std::string& record : records) {
      if (write(fd_, record.data(), record.size()) < 0) return internal_error("write");
    }
    fdatasync(fd_);
    return FakeJournal::append(records);
  }

 private:
  int fd_;
};

/// The address of a server in another process, or null.
const char* outside_server() { return std::getenv("KEIKO_BENCH_SERVER"); }

void name_journal(benchmark::State& state) {
  state.SetLabel(outside_server() != nullptr ? "sqlite, server process"
                                             : "fake journal, in process");
}

struct BenchServer {
  FlushingJournal journal{std::make_shared<FakeJournalDisk>()};
  SteadyClock clock{Time{}};
  std::stop_source stop;
  std::promise<ServerAddresses> ready;
  std::thread thread;
  std::string address;

  BenchServer() {
    set_log_level(LogLevel::kError);
    if (outside_server() != nullptr) {
      address = outside_server();
      return;
    }
    ServerOptions options;
    options.grpc_port = 0;
    options.http_port = 0;
    options.loop.snapshot_records = 10'000'000;
    options.loop.snapshot_bytes = gibibytes(4);
    thread = std::thread([this, options] {
      Recovery recovery = MUST(recover(journal));
      MUST(run_server(options, journal, clock, std::move(recovery), stop.get_token(),
                      [this](const ServerAddresses& a) { ready.set_value(a); }));
    });
    address = ready.get_future().get().grpc;
  }
  ~BenchServer() {
    stop.request_stop();
    if (thread.joinable()) thread.join();
  }
  std::unique_ptr<Client> client() const { return make_client({address, seconds(60), seconds(3)}); }
};

void submit_single(benchmark::State& state) {
  name_journal(state);
  BenchServer server;
  constexpr int kEach = 200;
  for (auto _ : state) {
    std::vector<std::thread> clients;
    for (int64_t c = 0; c < state.range(0); ++c) {
      clients.emplace_back([&server] {
        const auto client = server.client();
        for (int i = 0; i < kEach; ++i) MUST(client->submit_job(submit_of("bench")));
      });
    }
    for (std::thread& client : clients) client.join();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * kEach);
}
BENCHMARK(submit_single)->Arg(1)->Arg(16)->Arg(64)->UseRealTime()->Unit(benchmark::kMillisecond);

void submit_batched(benchmark::State& state) {
  name_journal(state);
  BenchServer server;
  const auto client = server.client();
  v1::SubmitJobsRequest batch;
  for (int64_t i = 0; i < state.range(0); ++i) *batch.add_requests() = submit_of("bench");
  for (auto _ : state) MUST(client->submit_jobs(batch));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(submit_batched)->Arg(100)->Arg(1000)->UseRealTime()->Unit(benchmark::kMillisecond);

/// A page of 100 at random places of a list of 100,000 jobs. Counters: percentiles in milliseconds.
void list_page(benchmark::State& state) {
  name_journal(state);
  BenchServer server;
  const auto client = server.client();
  v1::SubmitJobsRequest batch;
  for (int i = 0; i < 5000; ++i) *batch.add_requests() = submit_of("bench");
  for (int i = 0; i < 20; ++i) MUST(client->submit_jobs(batch));
  std::vector<double> times_ms;
  Prng prng(1);
  for (auto _ : state) {
    v1::ListJobsRequest request;
    request.set_page_size(100);
    request.set_page_token("j" + std::to_string(1 + prng.below(99'000)));
    const auto start = std::chrono::steady_clock::now();
    MUST(client->list_jobs(request));
    times_ms.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::sort(times_ms.begin(), times_ms.end());
  state.counters["p50_ms"] = times_ms[times_ms.size() / 2];
  state.counters["p99_ms"] = times_ms[times_ms.size() * 99 / 100];
}
BENCHMARK(list_page)->Iterations(2000)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace keiko::server
