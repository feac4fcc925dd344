// LogReader: answers the server's reads of workers' output, from the files that the workers write.
//
// A thread of its own reads, a chunk of each read in turn, so that a long read does not hold up
// the others, nor a slow disk the loop. What the link does not take is read again a little later. A
// read that follows looks for more ten times a second. All members are safe from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "wire/logs/log_messages.h"

namespace keiko::agent {

class LogReader {
 public:
  /// Hands a chunk to the link; must not block. kResourceExhausted: not now; any other Error: there
  /// is nobody to read for.
  using Send = std::function<Done(const LogChunk&)>;

  LogReader(std::string state_dir, Send send);
  ~LogReader();

  void start(LogRead read);
  void cancel(uint64_t request);
  /// The stream is gone. No chunk of an earlier read is sent once this has returned.
  void drop_all();
  /// Whether the worker may still write; reads of one that may not end with the file. A worker that
  /// was never named counts as ended.
  void set_live(const WorkerKey& key, bool live);

 private:
  struct Reading {
    LogRead ask;
    uint64_t era = 0;
    int fd = -1;
    bool placed = false;     ///< a negative offset has become one from the start
    bool told_eof = false;
    std::string refusal;     ///< not empty: why nothing will be read
    int64_t sent_bytes = 0;
  };
  struct Cancel { uint64_t request = 0; };
  using Order = std::variant<LogRead, Cancel>;
  enum class Turn { kMore, kWait, kBusy, kOver };

  void run();
  void obey(uint64_t era, Order& order);
  std::optional<std::chrono::milliseconds> take_turns();
  Turn take_turn(Reading& reading);
  Turn open_file(Reading& reading, bool live);
  Turn send_chunk(Reading& reading, LogChunk chunk);
  Turn fail(Reading& reading, std::string why);
  void end(std::map<uint64_t, Reading>::iterator reading);
  bool is_live(const WorkerKey& key);
  bool is_current(const Reading& reading);

  const std::string state_dir_;
  const Send send_;

  std::mutex gate_;  // held while a chunk is sent, so that drop_all() can wait for it
  uint64_t era_ = 0;  // guarded by gate_: how many streams are gone

  std::mutex mutex_;  // guards what follows, up to the blank line
  std::condition_variable changed_;
  std::vector<std::pair<uint64_t, Order>> orders_;  // with the era that they were given in
  std::set<WorkerKey> live_;
  bool stopping_ = false;

  std::map<uint64_t, Reading> readings_;  // of the thread alone, by request
  std::thread thread_;
};

}  // namespace keiko::agent
