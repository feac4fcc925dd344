#include "agent/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "ports/substrate.h"

namespace keiko::agent {
namespace {

/// How often a read that follows looks for more.
constexpr std::chrono::milliseconds kFollowEvery{100};
/// How long a chunk waits that the link did not take.
constexpr std::chrono::milliseconds kBusyPause{10};
/// Reads at once, each with an open file; the server needs one for each client, rank and stream.
constexpr size_t kMaxReadings = 512;

}  // namespace

LogReader::LogReader(std::string state_dir, Send send)
    : state_dir_(std::move(state_dir)), send_(std::move(send)), thread_([this] { run(); }) {}

LogReader::~LogReader() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
  for (auto& [request, reading] : readings_) {
    if (reading.fd >= 0) close(reading.fd);
  }
}

void LogReader::start(LogRead read) {
  const std::scoped_lock lock(gate_, mutex_);
  orders_.emplace_back(era_, std::move(read));
  changed_.notify_one();
}

void LogReader::cancel(uint64_t request) {
  const std::scoped_lock lock(gate_, mutex_);
  orders_.emplace_back(era_, Cancel{request});
  changed_.notify_one();
}

void LogReader::drop_all() {
  const std::scoped_lock lock(gate_);
  ++era_;
}

void LogReader::set_live(const WorkerKey& key, bool live) {
  const std::scoped_lock lock(mutex_);
  if (live) {
    live_.insert(key);
  } else {
    live_.erase(key);
  }
  changed_.notify_one();
}

bool LogReader::is_live(const WorkerKey& key) {
  const std::scoped_lock lock(mutex_);
  return live_.contains(key);
}

bool LogReader::is_current(const Reading& reading) {
  const std::scoped_lock lock(gate_);
  return reading.era == era_;
}

void LogReader::run() {
  std::optional<std::chrono::milliseconds> pause;  // nothing: until there is an order
  for (;;) {
    std::vector<std::pair<uint64_t, Order>> orders;
    {
      std::unique_lock lock(mutex_);
      const auto woken = [this] { return stopping_ || !orders_.empty(); };
      if (pause) {
        changed_.wait_for(lock, *pause, woken);
      } else {
        changed_.wait(lock, woken);
      }
      if (stopping_) return;
      orders.swap(orders_);
    }
    for (auto& [era, order] : orders) obey(era, order);
    pause = take_turns();
  }
}

void LogReader::obey(uint64_t era, Order& order) {
  if (const auto* cancelled = std::get_if<Cancel>(&order)) {
    const auto found = readings_.find(cancelled->request);
    if (found != readings_.end() && found->second.era == era) end(found);
    return;
  }
  Reading reading;
  reading.ask = std::move(std::get<LogRead>(order));
  reading.era = era;
  const auto known = readings_.find(reading.ask.request);
  if (known != readings_.end()) end(known);
  if (readings_.size() >= kMaxReadings) {
    reading.refusal = "this node serves " + std::to_string(kMaxReadings) +
                      " log reads already; try again when some have ended";
  } else if (reading.ask.max_bytes <= 0) {
    reading.refusal = "max_bytes must be above 0";
  }
  readings_.emplace(reading.ask.request, std::move(reading));
}

/// One chunk of each read. RETURNS: how long there is nothing to do; nothing if there are no reads.
std::optional<std::chrono::milliseconds> LogReader::take_turns() {
  auto pause = kFollowEvery;
  for (auto next = readings_.begin(); next != readings_.end();) {
    const auto current = next++;
    switch (take_turn(current->second)) {
      case Turn::kMore: pause = std::chrono::milliseconds(0); break;
      case Turn::kBusy: pause = std::min(pause, kBusyPause); break;
      case Turn::kWait: break;
      case Turn::kOver: end(current); break;
    }
  }
  if (readings_.empty()) return std::nullopt;
  return pause;
}

void LogReader::end(std::map<uint64_t, Reading>::iterator reading) {
  if (reading->second.fd >= 0) close(reading->second.fd);
  readings_.erase(reading);
}

LogReader::Turn LogReader::take_turn(Reading& reading) {
  if (!is_current(reading)) return Turn::kOver;
  if (!reading.refusal.empty()) return fail(reading, reading.refusal);
  // Asked before the file is: what is there once the worker has ended is all there will ever be.
  const bool live = is_live(reading.ask.key);
  if (reading.fd < 0) {
    const Turn turn = open_file(reading, live);
    if (reading.fd < 0) return turn;
  }
  struct stat status {};
  if (fstat(reading.fd, &status) != 0) return fail(reading, errno_error("stat", errno).message);
  if (std::exchange(reading.placed, true) == false && reading.ask.offset < 0) {
    reading.ask.offset = std::max<int64_t>(0, status.st_size + reading.ask.offset);
  }
  LogChunk chunk;
  chunk.offset = reading.ask.offset;
  const int64_t left = reading.ask.max_bytes - reading.sent_bytes;
  chunk.data.resize(static_cast<size_t>(std::min<int64_t>(kMaxLogChunk, left)));
  const ssize_t got = pread(reading.fd, chunk.data.data(), chunk.data.size(), chunk.offset);
  if (got < 0 && errno == EINTR) return Turn::kMore;
  if (got < 0) return fail(reading, errno_error("read the worker's output", errno).message);
  chunk.data.resize(static_cast<size_t>(got));
  chunk.eof = chunk.offset + got >= status.st_size;
  chunk.ended = chunk.eof && !live;
  if (got == 0 && reading.told_eof && !chunk.ended) return Turn::kWait;
  return send_chunk(reading, std::move(chunk));
}

/// A worker that lives may not have made its file yet.
LogReader::Turn LogReader::open_file(Reading& reading, bool live) {
  const LogRead& ask = reading.ask;
  const WorkerPaths paths = worker_paths(state_dir_, ask.key);
  const std::string& path = ask.stream == LogStream::kOut ? paths.out : paths.err;
  reading.fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (reading.fd >= 0) return Turn::kMore;
  const int error = errno;
  if (error != ENOENT) return fail(reading, errno_error("open " + path, error).message);
  if (!live) {
    return fail(reading, "this node has no output of " + to_text(ask.key) +
                             ": it did not run here, or its logs were removed");
  }
  if (reading.told_eof) return Turn::kWait;
  LogChunk chunk;
  chunk.offset = std::max<int64_t>(0, ask.offset);
  chunk.eof = true;
  return send_chunk(reading, std::move(chunk));
}

LogReader::Turn LogReader::send_chunk(Reading& reading, LogChunk chunk) {
  chunk.request = reading.ask.request;
  {
    const std::scoped_lock lock(gate_);
    if (reading.era != era_) return Turn::kOver;
    const Done sent = send_(chunk);
    if (!sent.ok() && sent.error().code == Code::kResourceExhausted) return Turn::kBusy;
    if (!sent.ok()) return Turn::kOver;
  }
  const auto size = static_cast<int64_t>(chunk.data.size());
  if (size > 0) reading.ask.offset = chunk.offset + size;
  reading.sent_bytes += size;
  reading.told_eof = chunk.eof;
  if (chunk.ended || reading.sent_bytes >= reading.ask.max_bytes) return Turn::kOver;
  if (!chunk.eof) return Turn::kMore;
  return reading.ask.follow ? Turn::kWait : Turn::kOver;
}

LogReader::Turn LogReader::fail(Reading& reading, std::string why) {
  LogChunk chunk;
  chunk.offset = std::max<int64_t>(0, reading.ask.offset);
  chunk.error = std::move(why);
  return send_chunk(reading, std::move(chunk)) == Turn::kBusy ? Turn::kBusy : Turn::kOver;
}

}  // namespace keiko::agent
