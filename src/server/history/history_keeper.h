// HistoryKeeper: turns the agents' readings into the history of metrics, and answers from it.
//
//   agents' streams ──put──► the open span of 10 s of each node ──► queue ──► keeper's thread:
//                                                        History::append at every step, sweep
//   questions ─────────────────────────────────────────► queue ──► History::read ──► then
//
// Only that thread touches the History, so neither the server's loop nor a stream ever waits for
// its disk. Both queues are bounded: spans that find theirs full are dropped, counted and told of.
// When the disk takes nothing the spans wait in the queue and are tried again. Nothing here may end
// the server. Public functions are safe from any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "model/reading.h"
#include "ports/clock.h"
#include "ports/history/history.h"
#include "server/history/history_plan.h"
#include "server/options.h"
#include "server/server_probe.h"

namespace keiko::server {

struct HistoryAsk {
  std::string node;
  std::string device;             ///< UUID; empty: the node and all its devices
  std::set<std::string> metrics;  ///< empty: all
  HistorySpan span;
};

struct HistoryAnswer {
  HistoryReadPlan plan;
  HistorySpans spans;
};

class HistoryKeeper {
 public:
  using Then = std::function<void(Result<HistoryAnswer>)>;

  HistoryKeeper(History& history, const HistoryOptions& options, Clock& clock,
                ServerProbe& probe);
  ~HistoryKeeper();

  void put(const std::string& node, const std::vector<Reading>& readings);

  /// Calls `then` exactly once, here or on the keeper's thread.
  void read(HistoryAsk ask, Then then);

  /// Writes what is open and ends the thread. Idempotent.
  void stop();

 private:
  struct Question {
    HistoryAsk ask;
    Then then;
  };

  void run();
  WallTime now() { return {clock_.now().ns}; }
  void queue_locked(HistoryRow row);
  void close_spans(bool all);
  void write_queue();
  void note_written(const Done& written);
  Result<HistoryAnswer> answer(const HistoryAsk& ask);
  void sweep();
  Done remove_old();
  Result<bool> remove_oldest_part();

  History& history_;
  const HistoryOptions options_;
  Clock& clock_;
  ServerProbe& probe_;
  const std::vector<HistoryStep> steps_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  std::map<std::string, HistoryRow> open_;  // by node
  std::deque<HistoryRow> queue_;
  std::vector<Question> questions_;

  bool paused_ = false;  // of the thread alone, as what follows
  Time next_sweep_;
  std::thread thread_;
};

}  // namespace keiko::server
