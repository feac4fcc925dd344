#include "server/logs/archive_reader.h"

#include <algorithm>
#include <utility>

namespace keiko::server {
namespace {

LogName name_of(const LogRead& ask) { return {ask.key, ask.stream}; }

}  // namespace

ArchiveReader::ArchiveReader(LogStore& store) : store_(store), thread_([this] { run(); }) {}

ArchiveReader::~ArchiveReader() { stop(); }

void ArchiveReader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ArchiveReader::start(LogRead read) {
  {
    const std::lock_guard lock(mutex_);
    orders_.emplace_back(std::move(read));
    ++reads_;
  }
  changed_.notify_one();
}

void ArchiveReader::cancel(uint64_t request) {
  {
    const std::lock_guard lock(mutex_);
    orders_.emplace_back(Cancel{request});
  }
  changed_.notify_one();
}

void ArchiveReader::grown(const LogName& name) {
  {
    const std::lock_guard lock(mutex_);
    if (reads_ == 0) return;
    news_.insert(name);
  }
  changed_.notify_one();
}

void ArchiveReader::run() {
  bool more = false;
  std::vector<Order> orders;
  std::set<LogName> news;
  while (wait(orders, news, more)) {
    for (Order& order : orders) obey(order);
    for (auto& [request, reading] : readings_) {
      if (news.count(name_of(reading.ask)) != 0) reading.parked = false;
    }
    more = take_turns();
  }
}

/// RETURNS: false once it is stopped.
bool ArchiveReader::wait(std::vector<Order>& orders, std::set<LogName>& news, bool at_once) {
  orders.clear();
  news.clear();
  std::unique_lock lock(mutex_);
  reads_ = readings_.size();
  for (const Order& order : orders_) reads_ += std::holds_alternative<LogRead>(order) ? 1 : 0;
  if (!at_once) {
    changed_.wait(lock, [this] { return stopping_ || !orders_.empty() || !news_.empty(); });
  }
  orders.swap(orders_);
  news.swap(news_);
  return !stopping_;
}

void ArchiveReader::obey(Order& order) {
  if (const auto* cancelled = std::get_if<Cancel>(&order)) {
    readings_.erase(cancelled->request);
    return;
  }
  Reading reading;
  reading.ask = std::move(std::get<LogRead>(order));
  readings_[reading.ask.request] = std::move(reading);
}

/// One chunk of each read. RETURNS: whether there is more to do at once.
bool ArchiveReader::take_turns() {
  bool more = false;
  for (auto next = readings_.begin(); next != readings_.end();) {
    const auto current = next++;
    if (current->second.parked) continue;
    switch (take_turn(current->second)) {
      case Turn::kMore: more = true; break;
      case Turn::kPark: current->second.parked = true; break;
      case Turn::kOver: readings_.erase(current); break;
    }
  }
  return more;
}

ArchiveReader::Turn ArchiveReader::take_turn(Reading& reading) {
  LogRead& ask = reading.ask;
  const Result<LogExtent> extent = store_.extent(name_of(ask));
  if (!extent.ok()) return fail(reading, extent.error());
  const Done placed = place(reading, *extent);
  if (!placed.ok()) return fail(reading, placed.error());
  const int64_t left = std::min<int64_t>(ask.max_bytes - reading.sent_bytes, kMaxLogChunk);
  Result<LogText> text =
      store_.read({name_of(ask), ask.offset, static_cast<size_t>(std::max<int64_t>(left, 0)),
                   ask.times});
  if (!text.ok()) return fail(reading, text.error());
  LogChunk chunk;
  chunk.request = ask.request;
  chunk.offset = ask.offset;
  chunk.data = std::move(text->data);
  chunk.marks = std::move(text->marks);
  const auto count = static_cast<int64_t>(chunk.data.size());
  chunk.eof = ask.offset + count >= extent->size;
  chunk.ended = chunk.eof && extent->ended;
  ask.offset += count;
  reading.sent_bytes += count;
  const bool eof = chunk.eof;
  const bool over = chunk.ended || reading.sent_bytes >= ask.max_bytes || (eof && !ask.follow);
  if (over || count > 0 || !reading.told_eof) emit_(std::move(chunk));
  reading.told_eof = eof;
  if (over) return Turn::kOver;
  return eof ? Turn::kPark : Turn::kMore;
}

Done ArchiveReader::place(Reading& reading, const LogExtent& extent) {
  if (std::exchange(reading.placed, true)) return done();
  LogRead& ask = reading.ask;
  if (ask.offset < 0) ask.offset = std::max<int64_t>(0, extent.size + ask.offset);
  if (ask.since.ns <= 0) return done();
  ask.offset = std::max(ask.offset, TRY(store_.offset_since(name_of(ask), ask.since)));
  return done();
}

ArchiveReader::Turn ArchiveReader::fail(const Reading& reading, const Error& why) {
  LogChunk chunk;
  chunk.request = reading.ask.request;
  chunk.offset = std::max<int64_t>(0, reading.ask.offset);
  chunk.error = why.message;
  emit_(std::move(chunk));
  return Turn::kOver;
}

}  // namespace keiko::server
