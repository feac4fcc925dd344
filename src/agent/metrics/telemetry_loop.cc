// Threads and what they share. Everything that a thread touches is held by shared_ptr, so that one
// which never comes back from its source may outlive the loop.
#include "agent/metrics/telemetry_loop.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "base/metric.h"

namespace keiko::agent {

using Steady = std::chrono::steady_clock;

struct TelemetryLoop::Sampler {
  std::string name;
  std::shared_ptr<telemetry::ReadingSource> source;
  std::thread thread;
  bool failing = false;  ///< of the thread alone
  // Guarded by Shared::mutex:
  bool ended = false;
  int64_t samples = 0;
  int64_t failures = 0;
  double last_seconds = 0;
  Time read_at;          ///< the last that succeeded
};

struct TelemetryLoop::Shared {
  Shared(const TelemetryOptions& with, std::shared_ptr<Clock> time)
      : options(with), clock(std::move(time)), record(with.record) {}

  const TelemetryOptions options;
  const std::shared_ptr<Clock> clock;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  bool stopping = false;
  telemetry::Record record;

  std::mutex listener_mutex;  // held while the listener is called; taken before `mutex`
  std::function<void(const std::vector<Reading>&)> listener;
  Time told_at;

  void take(Sampler& sampler, Result<std::vector<Reading>> read, double took_seconds);
  void tell();
};

TelemetryLoop::TelemetryLoop(const TelemetryOptions& options, std::shared_ptr<Clock> clock)
    : shared_(std::make_shared<Shared>(options, std::move(clock))) {}

TelemetryLoop::~TelemetryLoop() {
  on_readings({});
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  const auto until = Steady::now() + std::chrono::nanoseconds(shared_->options.stop_patience.ns);
  for (const std::shared_ptr<Sampler>& sampler : samplers_) {
    const bool ended =
        shared_->changed.wait_until(lock, until, [&sampler] { return sampler->ended; });
    if (ended) {
      lock.unlock();
      sampler->thread.join();
      lock.lock();
      continue;
    }
    log_warn("source_hangs", "source=" + sampler->name + " effect=\"it is left behind\"");
    sampler->thread.detach();
  }
}

void TelemetryLoop::add(const std::string& name,
                        std::shared_ptr<telemetry::ReadingSource> source) {
  const auto sampler = std::make_shared<Sampler>();
  sampler->name = name;
  sampler->source = std::move(source);
  {
    const std::lock_guard lock(shared_->mutex);
    samplers_.push_back(sampler);
  }
  sampler->thread = std::thread([shared = shared_, sampler] { run(shared, sampler); });
}

void TelemetryLoop::run(const std::shared_ptr<Shared>& shared,
                        const std::shared_ptr<Sampler>& sampler) {
  const std::chrono::nanoseconds every(shared->options.every.ns);
  Steady::time_point next = Steady::now();
  for (;;) {
    const Steady::time_point began = Steady::now();
    Result<std::vector<Reading>> read = sampler->source->read();
    const std::chrono::duration<double> took = Steady::now() - began;
    shared->take(*sampler, std::move(read), took.count());
    shared->tell();
    // What was missed while a source was slow is not caught up with.
    next = std::max(next + every, Steady::now());
    std::unique_lock lock(shared->mutex);
    shared->changed.wait_until(lock, next, [&shared] { return shared->stopping; });
    if (!shared->stopping) continue;
    sampler->ended = true;
    shared->changed.notify_all();
    return;
  }
}

void TelemetryLoop::Shared::take(Sampler& sampler, Result<std::vector<Reading>> read,
                                 double took_seconds) {
  if (read.ok() == sampler.failing) {
    sampler.failing = !read.ok();
    if (sampler.failing) {
      log_warn("source_unread", "source=" + sampler.name + " why=" +
                                    quote_text(read.error().text()));
    } else {
      log_info("source_reads_again", "source=" + sampler.name);
    }
  }
  const Time now = clock->now();
  const std::lock_guard lock(mutex);
  ++sampler.samples;
  sampler.last_seconds = took_seconds;
  if (!read.ok()) {
    ++sampler.failures;
    return;
  }
  sampler.read_at = now;
  record.put(sampler.name, now, std::move(read).value());
}

/// Several sources make one message, and a slow second makes none more.
void TelemetryLoop::Shared::tell() {
  const std::lock_guard telling(listener_mutex);
  const Time now = clock->now();
  const bool due = told_at == Time{} || now - told_at >= options.every * 9 / 10;
  if (!listener || !due) return;
  told_at = now;
  std::vector<Reading> readings;
  {
    const std::lock_guard lock(mutex);
    readings = record.latest(now);
  }
  listener(readings);
}

void TelemetryLoop::on_readings(std::function<void(const std::vector<Reading>&)> callback) {
  const std::lock_guard lock(shared_->listener_mutex);
  shared_->listener = std::move(callback);
}

std::vector<Reading> TelemetryLoop::latest() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->record.latest(shared_->clock->now());
}

std::vector<telemetry::Past> TelemetryLoop::past(const std::string& name,
                                                 const std::string& id) const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->record.past(name, id, shared_->clock->now());
}

std::string TelemetryLoop::metrics_text(const telemetry::ExpositionTerms& terms) const {
  std::vector<Reading> readings = latest();
  MetricRegistry own;
  {
    const std::lock_guard lock(shared_->mutex);
    for (const std::shared_ptr<Sampler>& one : samplers_) {
      const std::string labels = "node=\"" + telemetry::label_text(terms.node) +
                                 "\",source=\"" + one->name + "\"";
      own.counter("keiko_agent_samples_total", "Readings of a source", labels)
          .add(static_cast<uint64_t>(one->samples));
      own.counter("keiko_agent_sample_failures_total", "Readings of a source that failed", labels)
          .add(static_cast<uint64_t>(one->failures));
      own.gauge("keiko_agent_sample_seconds", "How long the last reading of a source took", labels)
          .set(one->last_seconds);
      if (one->read_at == Time{}) continue;
      own.gauge("keiko_agent_sample_age_seconds", "How old the newest reading of a source is",
                labels)
          .set((shared_->clock->now() - one->read_at).seconds());
    }
    const std::string labels = "node=\"" + telemetry::label_text(terms.node) + "\"";
    own.gauge("keiko_agent_series", "Metrics whose past is kept", labels)
        .set(static_cast<double>(shared_->record.series_count()));
    own.counter("keiko_agent_unknown_readings_total", "Readings that no metric stands for", labels)
        .add(static_cast<uint64_t>(shared_->record.unknown_count()));
  }
  return telemetry::exposition(readings, terms) + own.text();
}

}  // namespace keiko::agent
