// LogShipper: carries what this node's workers print to the server, while they run and after.
//
//   shim ──► file ──inotify──► this thread ──shipments──► server ──receipts──► what to send next
//
// A thread and a connection of its own: neither the loop nor a heartbeat waits for a log. Nothing
// of where it is lies on the disk: the server says so at each call. A worker whose output is all
// durable at the server gets an empty file `<rank>.shipped` beside its logs, and its files go
// `keep` later. Public functions are safe from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/log_watch.h"
#include "core/logship/ship_state.h"
#include "wire/logs/log_ship_client.h"

namespace keiko::agent {

struct LogShipOptions {
  std::string server;     ///< "host:port"
  std::string logs_dir;   ///< of the substrate, absolute
  /// Growth is gathered for so long, so that a program that prints line by line costs few messages.
  Duration gather = milliseconds(20);
  /// Pause before the server is dialled again; doubles up to the second.
  Duration redial_first = milliseconds(100);
  /// More than the agent's own: output can wait.
  Duration redial_most = seconds(5);
  /// A server that takes nothing is asked again this often.
  Duration ask_again = seconds(2);
  /// How long the node keeps its copy of what is durable at the server.
  Duration keep = hours(1);
};

class LogShipper : private LogShipListener {
 public:
  /// `on_shipped` is called from the shipper's thread when a worker's output has become complete at
  /// the server.
  LogShipper(LogShipOptions options, const MakeLogShipLink& make_link,
             std::function<void()> on_shipped);
  ~LogShipper() override;

  /// The worker may write from now on, or never again.
  void set_live(const WorkerKey& key, bool live);
  /// Takes up what lies in the folder from earlier agents: of workers that were not named live.
  void adopt();

  /// Meanwhile the node's copy of what is durable at the server goes at once.
  void set_short_of_room(bool is_short);

  /// RETURNS: whether it is worth waiting for the worker's output to become durable: a call is
  /// open, the server takes output, and some of this worker's is missing there.
  bool is_shipping(const WorkerKey& key);

 private:
  using Steady = std::chrono::steady_clock;
  struct Liveness {
    WorkerKey key;
    bool live = false;
  };
  enum class Call { kClosed, kDialled, kOpen };

  void on_ship_opened() override;
  void on_receipt(LogReceipt receipt) override;
  void on_ship_closed(Error why) override;

  void run();
  void wait();
  void wake();
  void take_orders();
  void take_receipts();
  void take_call_change();
  void look_at_files();
  void dial_if_due();
  void send_what_fits();
  bool send(const logship::ShipOrder& order);
  void mark_complete();
  bool has_live(const WorkerKey& of_attempt) const;
  void scan_folder();
  bool take_found(const WorkerKey& key, const std::string& folder);
  int64_t size_of(const LogName& name) const;
  std::string path_of(const LogName& name) const;
  void publish();

  const LogShipOptions options_;
  const std::function<void()> on_shipped_;
  int wake_fd_ = -1;

  std::mutex mutex_;  // guards what follows, up to the blank line
  std::vector<Liveness> orders_;
  std::vector<LogReceipt> receipts_;
  bool adopt_wanted_ = false;
  bool short_of_room_ = false;
  bool opened_ = false;                ///< news of the call
  bool closed_ = false;
  bool stopping_ = false;
  std::set<WorkerKey> moving_;         ///< whose output is not complete at the server
  bool takes_ = false;                 ///< a call is open and the server takes output

  // Of the thread alone.
  logship::ShipState state_;
  LogWatch watch_;
  std::set<WorkerKey> live_;
  Duration keep_;                      ///< now; see set_short_of_room()
  bool was_short_ = false;
  Call call_ = Call::kClosed;
  Steady::time_point dial_at_;
  Duration redial_;
  bool told_closed_ = false;
  Steady::time_point look_at_;         ///< not before; see LogShipOptions::gather
  Steady::time_point look_at_all_;
  Steady::time_point ask_at_;
  Steady::time_point scan_at_;
  std::string paused_;

  std::unique_ptr<LogShipLink> link_;  // its thread calls the above: it goes first
  std::thread thread_;
};

}  // namespace keiko::agent
