// LogShipper: carries what this node's workers print to the server, while they run and after.
//
//   shim ──► file ──inotify──► this thread ──shipments──► server ──receipts──► what to send next
//
// A thread and a connection of its own: neither the loop nor a heartbeat waits for a log. Nothing
// of where it is lies on the disk: the server says so at each call. A worker whose output is all
// durable at the server gets a mark beside its logs (logs/log_folder.h), and its files go by the
// retention options. Public functions are safe from any thread.
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
#include "agent/logs/log_folder.h"
#include "core/logship/node_retention.h"
#include "core/logship/ship_state.h"
#include "wire/logs/log_ship_client.h"

namespace keiko::agent {

struct LogShipOptions {
  std::string server;     ///< "host:port"
  std::string state_dir;  ///< of agent and substrate, absolute
  /// Growth is gathered for so long, so that a program that prints line by line costs few messages.
  Duration gather = milliseconds(20);
  /// Pause before the server is dialled again; doubles up to the second.
  Duration redial_first = milliseconds(100);
  /// More than the agent's own: output can wait.
  Duration redial_most = seconds(5);
  /// A server that takes nothing is asked again this often.
  Duration ask_again = seconds(2);
  /// What the node keeps of its copy of what is durable at the server.
  logship::NodeRetentionOptions retention = {};
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
  void sweep_if_due(bool at_once);
  void sweep();
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
  const LogFolder folder_;
  LogWatch watch_;
  std::set<WorkerKey> live_;
  bool is_short_ = false;              ///< of room; see set_short_of_room()
  Call call_ = Call::kClosed;
  Steady::time_point dial_at_;
  Duration redial_;
  bool told_closed_ = false;
  Steady::time_point look_at_;         ///< not before; see LogShipOptions::gather
  Steady::time_point look_at_all_;
  Steady::time_point ask_at_;
  bool adopted_ = false;               ///< before, what lies here may be a live worker's
  Steady::time_point sweep_at_ = Steady::time_point::max();
  Steady::time_point no_sweep_before_;
  std::string paused_;

  std::unique_ptr<LogShipLink> link_;  // its thread calls the above: it goes first
  std::thread thread_;
};

}  // namespace keiko::agent
