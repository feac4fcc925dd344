#include "server/logs/log_archive.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "core/logship/ship_state.h"
#include "core/logship/stream_limit.h"

namespace keiko::server {
namespace {

std::chrono::nanoseconds span(Duration duration) { return std::chrono::nanoseconds(duration.ns); }

/// What all agents together can send in this time is far below any floor.
constexpr std::chrono::milliseconds kRoomFor{100};

bool is_question(const LogShipment& shipment) { return shipment.data.empty() && !shipment.ended; }

}  // namespace

LogArchive::LogArchive(LogStore& store, const LogOptions& options, Clock& clock, Announce announce)
    : store_(store),
      options_(options),
      clock_(clock),
      announce_(std::move(announce)),
      reader_(store),
      retry_(options.retry_first),
      intake_([this] { run_intake(); }),
      syncer_([this] { run_sync(); }) {}

LogArchive::~LogArchive() { stop(); }

void LogArchive::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  loosened_.notify_all();
  if (intake_.joinable()) intake_.join();
  if (syncer_.joinable()) syncer_.join();
  reader_.stop();
}

void LogArchive::take(std::shared_ptr<ShipPort> port, LogShipment shipment) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    waiting_.push_back({std::move(port), std::move(shipment)});
  }
  arrived_.notify_one();
}

std::string LogArchive::paused() {
  const std::lock_guard lock(mutex_);
  return paused_;
}

void LogArchive::run_intake() {
  for (;;) {
    std::deque<Waiting> batch;
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      batch.swap(waiting_);
    }
    for (const Waiting& waiting : batch) {
      const Outcome outcome = deal_with(waiting.shipment);
      waiting.port->receipt(outcome.receipt);
      // Behind the receipt: what the sync leads to is later news.
      if (outcome.loose) set_loose(waiting, outcome.ended);
      waiting.port->read_next();
    }
  }
}

LogArchive::Outcome LogArchive::deal_with(const LogShipment& shipment) {
  Outcome outcome;
  LogReceipt& receipt = outcome.receipt;
  receipt.name = shipment.name;
  Result<LogExtent> extent = store_.extent(receipt.name);
  if (!extent.ok() && extent.error().code == Code::kNotFound) extent = LogExtent{};
  if (!extent.ok() && extent.error().code == Code::kFailedPrecondition) {
    receipt.unwanted = true;
    return outcome;
  }
  if (!extent.ok()) {
    pause(extent.error());
    receipt.rewind = true;
    receipt.paused = paused();
    return outcome;
  }
  receipt.written = extent->size;
  if (extent->ended) {
    // Perhaps of an earlier start, which may not have lived to make it durable.
    outcome.loose = store_.append(receipt.name, {}, true, clock_.wall()).ok();
    outcome.ended = true;
  } else if (is_pausing()) {
    receipt.rewind = true;
    receipt.paused = paused();
  } else if (!is_question(shipment)) {
    store_data(shipment, *extent, outcome);
  }
  return outcome;
}

void LogArchive::store_data(const LogShipment& shipment, const LogExtent& extent,
                            Outcome& outcome) {
  LogReceipt& receipt = outcome.receipt;
  const logship::Acceptance acceptance = logship::accept(extent.size, shipment);
  if (acceptance.gap) {
    receipt.rewind = true;
    return;
  }
  std::string_view fresh = std::string_view(shipment.data).substr(acceptance.skip);
  if (fresh.empty() && !acceptance.ends) return;
  const auto cut = logship::cut_at_limit(extent.size, fresh, options_.stream_limit);
  if (cut) fresh = *cut;
  const bool ends = acceptance.ends || cut;
  Done kept = check_room();
  if (kept.ok()) kept = store_.append(shipment.name, fresh, ends, clock_.wall());
  if (!kept.ok()) {
    pause(kept.error());
    receipt.rewind = true;
    receipt.paused = paused();
    return;
  }
  resume();
  receipt.written = extent.size + static_cast<int64_t>(fresh.size());
  outcome.loose = true;
  outcome.ended = ends;
  reader_.grown(shipment.name);
}

void LogArchive::set_loose(const Waiting& waiting, bool ended) {
  {
    const std::lock_guard lock(mutex_);
    if (loose_.empty()) sync_at_ = Steady::now() + span(options_.sync_every);
    loose_[waiting.shipment.name] = {waiting.port, ended, true};
    urgent_ = urgent_ || ended;
  }
  loosened_.notify_one();
}

void LogArchive::run_sync() {
  std::unique_lock lock(mutex_);
  for (;;) {
    loosened_.wait(lock, [this] { return stopping_ || !loose_.empty(); });
    loosened_.wait_until(lock, sync_at_, [this] { return stopping_ || urgent_; });
    if (!loose_.empty()) sync(lock);
    if (stopping_) return;
  }
}

void LogArchive::sync(std::unique_lock<std::mutex>& lock) {
  urgent_ = false;
  sync_at_ = Steady::now() + span(options_.sync_every);
  std::set<LogName> names;
  for (auto& [name, loose] : loose_) {
    loose.again = false;
    names.insert(name);
  }
  lock.unlock();
  const Done synced = store_.sync();
  if (!synced.ok()) pause(synced.error());
  settle(synced, names);
  lock.lock();
}

/// Who waits for an end hears that it is durable; after a failure everybody hears where he stands.
void LogArchive::settle(const Done& synced, const std::set<LogName>& names) {
  for (const LogName& name : names) {
    Loose loose;
    {
      const std::lock_guard lock(mutex_);
      const auto found = loose_.find(name);
      if (found == loose_.end() || found->second.again) continue;
      loose = found->second;
      loose_.erase(found);
    }
    const std::shared_ptr<ShipPort> port = loose.port.lock();
    if (!port || (synced.ok() && !loose.ended)) continue;
    const Result<LogExtent> extent = store_.extent(name);
    if (!extent.ok()) continue;  // the agent asks again
    LogReceipt receipt;
    receipt.name = name;
    receipt.written = extent->size;
    receipt.complete = synced.ok() && extent->ended;
    receipt.rewind = !synced.ok();
    if (receipt.rewind) receipt.paused = paused();
    port->receipt(receipt);
  }
}

/// RETURNS: whether nothing is to be tried now.
bool LogArchive::is_pausing() {
  const std::lock_guard lock(mutex_);
  return !paused_.empty() && Steady::now() < retry_at_;
}

Done LogArchive::check_room() {
  const auto now = Steady::now();
  if (now < room_until_) return done();
  const Bytes free = TRY(store_.free_space());
  if (free < options_.floor) {
    return resource_exhausted("the server's disk has only " + to_text(free) +
                              " left, and takes output from " + to_text(options_.floor) + " on");
  }
  room_until_ = now + kRoomFor;
  return done();
}

void LogArchive::pause(const Error& why) {
  std::string told;
  {
    const std::lock_guard lock(mutex_);
    if (paused_.empty()) {
      told = "workers' output stays on the nodes for now: " + why.message;
      retry_ = options_.retry_first;
    }
    paused_ = why.message;
    retry_at_ = Steady::now() + span(retry_);
    retry_ = std::min(retry_ * 2, options_.retry_most);
  }
  if (told.empty()) return;
  log_warn("logs_paused", "why=" + quote_text(why.text()));
  announce_("logs_paused", told);
}

void LogArchive::resume() {
  {
    const std::lock_guard lock(mutex_);
    if (paused_.empty()) return;
    paused_.clear();
  }
  log_info("logs_resumed");
  announce_("logs_resumed", "workers' output is taken from the nodes again");
}

}  // namespace keiko::server
