#include "sim/swarm.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/id.h"
#include "base/text.h"

namespace keiko::sim {
namespace {

/// One run in 20 is done twice and compared.
constexpr uint64_t kTwiceEvery = 20;

class Swarm {
 public:
  explicit Swarm(const SwarmOptions& options) : seeds_(options.also) {
    for (uint64_t i = 0; i < options.seeds; ++i) seeds_.push_back(options.first_seed + i);
  }

  SwarmReport run(int threads, const std::function<void(uint64_t, uint64_t)>& progress) {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
    std::unique_lock lock(mutex_);
    while (report_.runs < seeds_.size()) {
      changed_.wait_for(lock, std::chrono::milliseconds(250));
      if (progress) progress(report_.runs, report_.failures.size());
    }
    return report_;
  }

 private:
  void work() {
    for (size_t i = next_++; i < seeds_.size(); i = next_++) {
      const SimOptions options = options_of_seed(seeds_[i]);
      RunReport report = run_seed(options);
      const bool twice = i % kTwiceEvery == 0;
      if (twice) compare(report, run_seed(options));
      const std::lock_guard lock(mutex_);
      ++report_.runs;
      report_.run_twice += twice ? 1 : 0;
      report_.events += report.events;
      report_.jobs += report.jobs;
      report_.completed += report.completed;
      report_.restarts += report.restarts;
      if (!report.ok()) report_.failures.push_back(std::move(report));
      changed_.notify_one();
    }
  }

  static void compare(RunReport& first, const RunReport& second) {
    if (first.trace == second.trace && first.state == second.state) return;
    first.violations.push_back("same_seed_same_run: two runs of one seed differ: traces " +
                               to_text(first.trace) + " and " + to_text(second.trace));
  }

  std::vector<uint64_t> seeds_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  SwarmReport report_;
};

}  // namespace

SwarmReport run_swarm(const SwarmOptions& options,
                      const std::function<void(uint64_t, uint64_t)>& progress) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return Swarm(options).run(options.threads > 0 ? options.threads : cores, progress);
}

std::vector<uint64_t> read_seeds(const std::string& text) {
  std::vector<uint64_t> seeds;
  for (const std::string& line : split(text, '\n')) {
    uint64_t seed = 0;
    if (parse_digits(trim(std::string_view(line).substr(0, line.find('#'))), seed)) {
      seeds.push_back(seed);
    }
  }
  return seeds;
}

std::string failure_text(const RunReport& report) {
  std::string text = "seed " + std::to_string(report.seed) + " failed:\n";
  for (const std::string& violation : report.violations) text += "  " + violation + "\n";
  return text + "  you can reproduce this with: ./dev sim --seed " + std::to_string(report.seed) +
         " --trace\n";
}

}  // namespace keiko::sim
