// One append per commit; the back-off of a full disk; snapshots.
#include "server/commit_log.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"

namespace keiko::server {
namespace {

bool leaves_room_later(Code code) {
  // Of both, the journal says that nothing was written.
  return code == Code::kResourceExhausted || code == Code::kDeadlineExceeded;
}

bool may_pass(const cluster::Effect& effect) {
  if (std::holds_alternative<cluster::WakeAt>(effect)) return true;
  const auto* send = std::get_if<cluster::Send>(&effect);
  return send != nullptr && std::holds_alternative<ReportAck>(send->message.body);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

CommitLog::CommitLog(const LoopOptions& options, Journal& journal, uint64_t last_sequence,
                     uint64_t records_since_snapshot, ServerProbe& probe)
    : options_(options),
      journal_(journal),
      probe_(probe),
      last_sequence_(last_sequence),
      records_since_snapshot_(records_since_snapshot),
      pause_(options.retry_first) {}

void CommitLog::add(cluster::Effects effects) {
  for (cluster::Effect& effect : effects) {
    if (const auto* persist = std::get_if<cluster::Persist>(&effect)) {
      records_.push_back(encode_event(persist->event));
    }
    command_pending_ = command_pending_ || std::holds_alternative<cluster::Reply>(effect);
    pending_.push_back(std::move(effect));
  }
}

Committed CommitLog::commit(Time now) {
  if (full_ && !records_.empty() && now < retry_at_ && !command_pending_) {
    return {CommitOutcome::kHeld, take_releasable(), {}};
  }
  if (!records_.empty()) {
    const auto start = std::chrono::steady_clock::now();
    Done appended = journal_.append(records_);
    probe_.append_seconds.observe(seconds_since(start));
    if (!appended.ok()) {
      probe_.append_failures.add();
      Error error = std::move(appended).error();
      if (leaves_room_later(error.code)) return on_full(now, std::move(error));
      return {CommitOutcome::kFailed, {}, std::move(error)};
    }
    last_sequence_ += records_.size();
    records_since_snapshot_ += records_.size();
    for (const std::string& record : records_) {
      bytes_since_snapshot_ += static_cast<int64_t>(record.size());
    }
    probe_.records.add(records_.size());
    if (full_) log_info("journal_writable", "sequence=" + std::to_string(last_sequence_));
    full_ = false;
    pause_ = options_.retry_first;
    probe_.journal_writable.set(1);
  }
  Committed committed{CommitOutcome::kCommitted, std::move(pending_), {}};
  forget_pending();
  return committed;
}

Committed CommitLog::on_full(Time now, Error error) {
  if (!full_) log_error("journal_full", "error=" + quote_text(error.message));
  full_ = true;
  why_full_ = error.message;
  retry_at_ = now + pause_;
  pause_ = std::min(pause_ * 2, options_.retry_most);
  probe_.journal_writable.set(0);
  if (command_pending_ || pending_.size() > options_.held_limit) {
    forget_pending();
    return {CommitOutcome::kRefused, {},
            resource_exhausted("not accepted, as it cannot be made durable: " + error.message)};
  }
  return {CommitOutcome::kHeld, take_releasable(), {}};
}

cluster::Effects CommitLog::take_releasable() {
  cluster::Effects released;
  cluster::Effects kept;
  for (cluster::Effect& effect : pending_) {
    (may_pass(effect) ? released : kept).push_back(std::move(effect));
  }
  pending_ = std::move(kept);
  return released;
}

void CommitLog::forget_pending() {
  pending_.clear();
  records_.clear();
  command_pending_ = false;
}

Done CommitLog::check_accepts_commands(Time now) const {
  if (!full_ || now >= retry_at_) return done();
  return resource_exhausted("the server takes no changes now, as its journal cannot be written: " +
                            why_full_);
}

std::optional<Time> CommitLog::retry_at() const {
  if (!full_ || records_.empty()) return std::nullopt;
  return retry_at_;
}

Done CommitLog::snapshot_if_due(const State& state) {
  const bool due = records_since_snapshot_ >= options_.snapshot_records ||
                   bytes_since_snapshot_ >= options_.snapshot_bytes.count;
  if (!due || full_ || !records_.empty()) return done();
  Done stored = journal_.snapshot(last_sequence_, encode_state(state));
  records_since_snapshot_ = 0;  // also after a failure: the next try comes with the next period
  bytes_since_snapshot_ = 0;
  if (stored.ok()) {
    probe_.snapshots.add();
    log_info("journal_snapshot", "sequence=" + std::to_string(last_sequence_));
    return done();
  }
  if (!leaves_room_later(stored.error().code)) return stored;
  log_warn("journal_snapshot_failed", "error=" + quote_text(stored.error().message));
  return done();
}

}  // namespace keiko::server
