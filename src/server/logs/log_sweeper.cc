#include "server/logs/log_sweeper.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/text.h"

namespace keiko::server {
namespace {

/// Asked of the loop at once: less than a millisecond of its time.
constexpr size_t kJobsAtOnce = 1000;

}  // namespace

LogSweeper::LogSweeper(LogStore& store, const LogOptions& options, AskEnds ask_ends,
                       Announce announce)
    : store_(store),
      options_(options),
      ask_ends_(std::move(ask_ends)),
      announce_(std::move(announce)),
      thread_([this] { run(); }) {}

LogSweeper::~LogSweeper() { stop(); }

void LogSweeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LogSweeper::run() {
  const auto every = std::chrono::nanoseconds(options_.sweep_every.ns);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, every, [this] { return stopping_; })) {
    lock.unlock();
    const Done swept = sweep();
    if (!swept.ok()) log_warn("logs_not_swept", "why=" + quote_text(swept.error().text()));
    lock.lock();
  }
}

/// RETURNS: all jobs with logs, and whether they are over.
Result<std::vector<logship::KeptJob>> LogSweeper::look() {
  // The files first: a job that ends between the two is only kept longer.
  const std::vector<KeptLogs> kept = TRY(store_.usage());
  std::vector<logship::KeptJob> jobs;
  for (size_t first = 0; first < kept.size(); first += kJobsAtOnce) {
    const size_t end = std::min(first + kJobsAtOnce, kept.size());
    std::vector<JobId> ids;
    for (size_t i = first; i < end; ++i) ids.push_back(kept[i].job);
    const std::map<JobId, Duration> ends = TRY(ask_ends_(ids));
    for (size_t i = first; i < end; ++i) {
      const auto over = ends.find(kept[i].job);
      const bool ended = over != ends.end();
      jobs.push_back({kept[i].job, kept[i].size, ended, ended ? over->second : Duration{}});
    }
  }
  return jobs;
}

Done LogSweeper::sweep() {
  std::vector<logship::KeptJob> jobs = TRY(look());
  const Bytes free = TRY(store_.free_space());
  // Some way above the floor, so that not every sweep has to make room again.
  const Bytes missing = free < options_.floor ? options_.floor * 2 - free : Bytes{};
  for (const logship::Removal& removal :
       logship::plan_removals(std::move(jobs), options_.retention, missing)) {
    TRY(store_.remove(removal.job, removal.why));
    log_info("logs_removed", "job=" + to_text(removal.job) + " why=" + quote_text(removal.why));
    announce_("logs_removed", removal.why);
  }
  return done();
}

}  // namespace keiko::server
