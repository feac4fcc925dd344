// LogArchive: takes workers' output from the agents, keeps it in a LogStore, and reads it back.
//
//   agents' calls ──► intake thread: append ──► receipt "written", next shipment of that call
//                        │       └──► readers that follow are told
//                        └──► sync thread: within sync_every, at once for an end ──► "complete"
//
// A call has one shipment here at a time, so what waits is bounded by the number of agents. When
// the store takes no more, nothing is lost: the bytes lie in the nodes' files, agents are told to
// pause, and one tries again every few seconds. Public functions are safe from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "model/logs/log_shipping.h"
#include "ports/clock.h"
#include "ports/logs/log_store.h"
#include "server/logs/archive_reader.h"
#include "server/options.h"

namespace keiko::server {

/// One agent's shipping call. Safe from any thread.
class ShipPort {
 public:
  virtual ~ShipPort() = default;
  virtual void receipt(const LogReceipt& receipt) = 0;
  /// The last shipment was dealt with: read the next one.
  virtual void read_next() = 0;
};

class LogArchive {
 public:
  /// Tells the cluster's event stream, from any thread.
  using Announce = std::function<void(const std::string& event, const std::string& text)>;

  LogArchive(LogStore& store, const LogOptions& options, Clock& clock, Announce announce);
  ~LogArchive();

  void take(std::shared_ptr<ShipPort> port, LogShipment shipment);

  ArchiveReader& reader() { return reader_; }
  /// RETURNS: why nothing is taken now; empty if it is.
  std::string paused();

  /// Ends the threads; what was taken is made durable. Idempotent.
  void stop();

 private:
  using Steady = std::chrono::steady_clock;
  struct Waiting {
    std::shared_ptr<ShipPort> port;
    LogShipment shipment;
  };
  /// A log with bytes that are not known to be durable.
  struct Loose {
    std::weak_ptr<ShipPort> port;
    bool ended = false;
    bool again = true;  ///< since the sync that is under way began
  };

  void run_intake();
  void run_sync();
  /// What became of a shipment.
  struct Outcome {
    LogReceipt receipt;
    bool loose = false;  ///< something is to be made durable
    bool ended = false;  ///< ... an end
  };
  Outcome deal_with(const LogShipment& shipment);
  void store_data(const LogShipment& shipment, const LogExtent& extent, Outcome& outcome);
  void set_loose(const Waiting& waiting, bool ended);
  void sync(std::unique_lock<std::mutex>& lock);
  void settle(const Done& synced, const std::set<LogName>& names);
  bool is_pausing();
  Done check_room();
  void pause(const Error& why);
  void resume();

  LogStore& store_;
  const LogOptions options_;
  Clock& clock_;
  const Announce announce_;
  ArchiveReader reader_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable arrived_;
  std::condition_variable loosened_;
  std::deque<Waiting> waiting_;
  std::map<LogName, Loose> loose_;
  Steady::time_point sync_at_;
  bool urgent_ = false;
  std::string paused_;
  Duration retry_;
  Steady::time_point retry_at_;
  bool stopping_ = false;

  Steady::time_point room_until_;  // of the intake thread: no look at the free space before

  std::thread intake_;
  std::thread syncer_;
};

}  // namespace keiko::server
