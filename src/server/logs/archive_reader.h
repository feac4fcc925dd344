// ArchiveReader: reads of kept output, answered as an agent answers a read: in chunks, and a read
// that follows waits at the end for news.
//
// A thread of its own reads, a chunk of each read in turn, so that the loop never waits for a disk.
// Public functions are safe from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <variant>
#include <vector>

#include "ports/logs/log_store.h"
#include "wire/logs/log_messages.h"

namespace keiko::server {

class ArchiveReader {
 public:
  /// Takes a chunk, on the reader's thread; must not block.
  using Emit = std::function<void(LogChunk)>;

  explicit ArchiveReader(LogStore& store);
  ~ArchiveReader();

  /// Once, before the first start().
  void set_emit(Emit emit) { emit_ = std::move(emit); }

  void start(LogRead read);
  void cancel(uint64_t request);
  /// The log has more bytes, or its end.
  void grown(const LogName& name);
  void stop();

 private:
  struct Reading {
    LogRead ask;
    bool placed = false;    ///< a negative offset or a time has become an offset from the start
    bool told_eof = false;
    bool parked = false;    ///< at the end, for news
    int64_t sent_bytes = 0;
  };
  struct Cancel { uint64_t request = 0; };
  using Order = std::variant<LogRead, Cancel>;
  enum class Turn { kMore, kPark, kOver };

  void run();
  bool wait(std::vector<Order>& orders, std::set<LogName>& news, bool at_once);
  void obey(Order& order);
  bool take_turns();
  Turn take_turn(Reading& reading);
  Done place(Reading& reading, const LogExtent& extent);
  Turn fail(const Reading& reading, const Error& why);

  LogStore& store_;
  Emit emit_;

  std::mutex mutex_;  // guards what follows, up to the blank line
  std::condition_variable changed_;
  std::vector<Order> orders_;
  std::set<LogName> news_;
  size_t reads_ = 0;
  bool stopping_ = false;

  std::map<uint64_t, Reading> readings_;  // of the thread alone, by request
  std::thread thread_;
};

}  // namespace keiko::server
