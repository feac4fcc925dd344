#include "server/history/history_keeper.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace keiko::server {
namespace {

/// Of one transaction: some ten milliseconds, so that questions do not wait long.
constexpr std::ptrdiff_t kRowsAtOnce = 500;
constexpr size_t kMostQuestions = 64;
/// Of one answer: 2 MiB on the wire.
constexpr int64_t kMostBuckets = 40'000;
/// What a store that is too large keeps of each step whatever it takes.
constexpr int64_t kLeastSpans = 60;

}  // namespace

HistoryKeeper::HistoryKeeper(History& history, const HistoryOptions& options, Clock& clock,
                             ServerProbe& probe)
    : history_(history),
      options_(options),
      clock_(clock),
      probe_(probe),
      steps_(history_steps(options.keep)) {
  probe_.history_writable.set(1);
  thread_ = std::thread([this] { run(); });
}

HistoryKeeper::~HistoryKeeper() { stop(); }

void HistoryKeeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void HistoryKeeper::put(const std::string& node, const std::vector<Reading>& readings) {
  const Duration step = steps_.front().step;
  const WallTime at = span_begin(now(), step);
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  HistoryRow& row = open_[node];
  if (row.at.ns != at.ns && !row.subjects.empty()) queue_locked(std::exchange(row, {}));
  row.step = step;
  row.at = at;
  row.node = node;
  for (const Reading& reading : readings) {
    Buckets& buckets = row.subjects[reading.subject.id];
    for (const auto& [metric, value] : reading.values) add(buckets[metric], value);
  }
}

void HistoryKeeper::queue_locked(HistoryRow row) {
  if (queue_.size() >= options_.queue_rows) {
    probe_.history_dropped.add();
    return;
  }
  queue_.push_back(std::move(row));
}

void HistoryKeeper::read(HistoryAsk ask, Then then) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_ && questions_.size() < kMostQuestions) {
      questions_.push_back({std::move(ask), std::move(then)});
      changed_.notify_all();
      return;
    }
  }
  then(resource_exhausted("too many wait for the history already; ask again in a second"));
}

void HistoryKeeper::run() {
  const auto every = std::chrono::nanoseconds(options_.write_every.ns);
  for (bool stopping = false; !stopping;) {
    std::vector<Question> questions;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, every, [this] { return stopping_ || !questions_.empty(); });
      stopping = stopping_;
      questions = std::exchange(questions_, {});
    }
    close_spans(stopping);
    write_queue();
    for (Question& question : questions) question.then(answer(question.ask));
    if (!stopping && clock_.now() >= next_sweep_) sweep();
  }
}

/// Those of nodes that are gone end by themselves.
void HistoryKeeper::close_spans(bool all) {
  const WallTime current = span_begin(now(), steps_.front().step);
  const std::lock_guard lock(mutex_);
  for (auto open = open_.begin(); open != open_.end();) {
    if (!all && open->second.at.ns >= current.ns) {
      ++open;
      continue;
    }
    queue_locked(std::move(open->second));
    open = open_.erase(open);
  }
}

void HistoryKeeper::write_queue() {
  for (;;) {
    std::vector<HistoryRow> taken;
    {
      const std::lock_guard lock(mutex_);
      const auto end = queue_.begin() + std::min(std::ssize(queue_), kRowsAtOnce);
      taken.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
      queue_.erase(queue_.begin(), end);
    }
    if (taken.empty()) return;
    // The store merges spans, so a coarser step needs no memory of its own here.
    std::vector<HistoryRow> rows;
    for (const HistoryRow& row : taken) {
      for (const HistoryStep& step : steps_) {
        rows.push_back({step.step, span_begin(row.at, step.step), row.node, row.subjects});
      }
    }
    const Done written = history_.append(rows);
    note_written(written);
    if (written.ok()) {
      probe_.history_rows.add(taken.size());
      continue;
    }
    // What is older waits in front; where there is no room it is what is dropped.
    const std::lock_guard lock(mutex_);
    while (!taken.empty() && queue_.size() < options_.queue_rows) {
      queue_.push_front(std::move(taken.back()));
      taken.pop_back();
    }
    probe_.history_dropped.add(taken.size());
    return;
  }
}

void HistoryKeeper::note_written(const Done& written) {
  if (!written.ok()) probe_.history_failures.add();
  probe_.history_writable.set(written.ok() ? 1 : 0);
  if (written.ok() != paused_) return;
  paused_ = !written.ok();
  if (paused_) {
    log_warn("history_paused", "why=" + quote_text(written.error().text()) +
                                   " effect=\"metrics wait in memory; jobs are not touched\"");
  } else {
    log_info("history_goes_on");
  }
}

Result<HistoryAnswer> HistoryKeeper::answer(const HistoryAsk& ask) {
  HistoryAnswer out;
  out.plan = plan_history_read(ask.span, now(), steps_);
  std::vector<HistoryRow> rows =
      TRY(history_.read({ask.node, out.plan.stored, out.plan.since, out.plan.until}));
  {
    const std::lock_guard lock(mutex_);
    const auto open = open_.find(ask.node);
    const bool inside = open != open_.end() && open->second.at.ns >= out.plan.since.ns &&
                        open->second.at.ns < out.plan.until.ns;
    if (inside) rows.push_back(open->second);
  }
  for (HistoryRow& row : rows) {
    std::erase_if(row.subjects, [&ask](const auto& subject) {
      return !ask.device.empty() && subject.first != ask.device;
    });
    if (ask.metrics.empty()) continue;
    for (auto& [subject, buckets] : row.subjects) {
      std::erase_if(buckets, [&ask](const auto& one) { return !ask.metrics.contains(one.first); });
    }
  }
  out.spans = fold_history(rows, out.plan.step, kMostBuckets);
  return out;
}

void HistoryKeeper::sweep() {
  next_sweep_ = clock_.now() + options_.sweep_every;
  Done swept = remove_old();
  while (swept.ok() && options_.total.count > 0) {
    const Result<Bytes> size = history_.size();
    if (!size.ok()) return log_warn("history_not_swept", "why=" + quote_text(size.error().text()));
    probe_.history_bytes.set(static_cast<double>(size->count));
    if (*size <= options_.total) return;
    const Result<bool> cut = remove_oldest_part();
    if (!cut.ok()) swept = cut.error();
    else if (!*cut) return;
  }
  if (!swept.ok()) log_warn("history_not_swept", "why=" + quote_text(swept.error().text()));
}

Done HistoryKeeper::remove_old() {
  for (const HistoryStep& step : steps_) {
    if (step.keep.ns > 0) TRY(history_.remove(step.step, {now().ns - step.keep.ns}));
  }
  return done();
}

/// An eighth of the time that the finest step reaches back, as far as it has some to give.
Result<bool> HistoryKeeper::remove_oldest_part() {
  for (const HistoryStep& step : steps_) {
    const std::optional<WallTime> oldest = TRY(history_.oldest(step.step));
    if (!oldest) continue;
    const Duration reach{now().ns - oldest->ns};
    if (reach <= step.step * kLeastSpans) continue;
    log_info("history_cut", "step=" + quote_text(to_text(step.step)) + " reach=" +
                                quote_text(to_text(reach)) + " total=" + to_text(options_.total));
    TRY(history_.remove(step.step, {oldest->ns + reach.ns / 8 + step.step.ns}));
    return true;
  }
  return false;
}

}  // namespace keiko::server
