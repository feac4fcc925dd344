// AgentLoop: the real loop of the node brain. It feeds the brain what link, substrate and workers
// report, carries out its effects in order, and dials the server again when the stream is lost.
//
//   link ──┐                          ┌── hello, reports ──► link
//   workers' sockets ──► inbox ──► brain ── spawn, signal ──► substrate
//   substrate ─┘        (this thread) └── notices ──► workers' sockets
//
// One thread owns everything here; the link's and the sockets' threads only post. The listener's
// calls and stop() are safe from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/attach/attach_desk.h"
#include "agent/health/check_desk.h"
#include "agent/health/health_watch.h"
#include "agent/inbox.h"
#include "agent/log_reader.h"
#include "agent/log_shipper.h"
#include "agent/options.h"
#include "agent/state_folder.h"
#include "agent/worker_sockets.h"
#include "base/prng.h"
#include "core/node/node_brain.h"
#include "ports/clock.h"
#include "ports/devices.h"
#include "ports/host.h"
#include "ports/substrate.h"
#include "wire/agent_client.h"

namespace keiko::agent {

/// The world as the loop meets it. All of it outlives the loop; `host` is asked in open() alone.
struct AgentParts {
  StateFolder& folder;
  Substrate& substrate;
  Devices& devices;
  Clock& clock;
  std::function<std::unique_ptr<AgentLink>(AgentListener&)> make_link;
  Host* host = nullptr;  ///< without one the node tells nothing of NUMA nodes and NICs
  KernelLog* kernel_log = nullptr;  ///< none: health follows from the drivers alone
  /// Carries workers' output to the server; nothing: it stays here.
  MakeLogShipLink make_ship_link = {};
  WorkerDoor* door = nullptr;  ///< none: nobody is let into workers
  /// Nothing: workers start unchecked, and what waits for a re-test waits for an operator.
  MakeChecks make_checks = {};
};

class AgentLoop : private AgentListener {
 public:
  /// Finds the devices, adopts the workers that the substrate still knows, and dials at the first
  /// turn. RETURNS: an Error if the machine cannot be described or its devices cannot be read.
  static Result<std::unique_ptr<AgentLoop>> open(AgentOptions options, AgentParts parts);
  ~AgentLoop() override;

  /// Turns until it is stopped. RETURNS: kFailedPrecondition with the server's words if it refused
  /// this agent for good; workers that lived had ended before.
  Done run();

  /// Waits for news, `at_most` so long, and deals with all there is. RETURNS: whether to go on.
  bool turn(Duration at_most);

  /// Ends run(). With `take_workers` workers are stopped first, within their grace; without, they
  /// run on under their shims for the next agent to adopt, until their lease ends. A second call
  /// without ends the wait of the first.
  void stop(bool take_workers);

  /// Tells the judge of health the newest readings, and the server if it listens and nothing else
  /// waits to be sent. Safe from any thread.
  void send_readings(const std::vector<Reading>& readings);

  const NodeSpec& spec() const { return brain_.spec(); }

 private:
  enum class LinkStatus { kClosed, kDialled, kOpen };

  AgentLoop(AgentOptions options, AgentParts parts, NodeSpec spec);
  Done prepare(std::set<std::string> missing);

  // Of the link's thread.
  void on_connected() override;
  void on_message(ServerMessage message) override;
  void on_log_read(LogRead read) override;
  void on_log_cancel(uint64_t request) override;
  void on_attach(v1::AttachOrder order) override;
  void on_closed(Error why) override;

  // agent_loop.cc: what comes in.
  void adopt();
  void wait(Duration at_most);
  void take_posts();
  void take(const LinkUp& post);
  void take(const LinkDown& post);
  void take(const ServerMessage& post);
  void take(const StopOrder& post);
  void take_news();
  void look_at_workers();
  void look_at_health(bool at_once = false);
  void note_change(const ProcessState& state);
  void set_logs_live(const WorkerKey& key, bool live);
  void tell_ends();
  void keep_link();
  void feed(node::EventBody body);
  void tell_own();
  bool is_over();

  // effects.cc: what goes out.
  void carry_out(const node::SendHello& effect);
  void carry_out(const node::SendReport& effect);
  void carry_out(const node::Spawn& effect);
  void carry_out(const node::SignalWorker& effect);
  void carry_out(const node::NoticeWorker& effect);
  void carry_out(const node::ForgetProcess& effect);
  void carry_out(const node::WakeAt& effect);
  void carry_out(const node::Note& effect);
  void carry_out(const node::Quit& effect);
  Done start_worker(const node::Spawn& effect, std::map<std::string, std::string> visible);
  std::vector<int32_t> cores_for(const WorkerLaunch& launch) const;
  void hold_lease();

  // health/loop_checks.cc: workers wait until their devices are found well.
  void admit(const node::Spawn& effect);
  void take_checks();
  void start_now(const node::Spawn& effect);
  void refuse(const WorkerKey& key, EndCause cause, const std::string& why);
  void refuse_without_devices(const WorkerLaunch& launch, const std::string& why);
  void carry_out(const node::ActOnHealth& effect);

  const AgentOptions options_;
  AgentParts parts_;
  node::NodeBrain brain_;
  Prng prng_;                                   ///< of redials alone
  std::unique_ptr<Inbox> inbox_;
  std::unique_ptr<WorkerSockets> sockets_;
  std::mutex logs_mutex_;                       ///< of the pointer, where other threads follow it
  std::unique_ptr<LogReader> logs_;
  std::unique_ptr<AttachDesk> desk_;            ///< made before the link, gone after it
  std::unique_ptr<LogShipper> shipper_;
  std::map<WorkerKey, Time> held_ends_;         ///< ends to tell at the latest then, output first
  std::unique_ptr<AgentLink> link_;
  std::unique_ptr<HealthWatch> health_;
  std::mutex readings_mutex_;
  std::vector<Reading> readings_;               ///< the newest that the judge has not seen
  std::unique_ptr<CheckDesk> checks_;           ///< none: nothing is checked
  LinkStatus link_status_ = LinkStatus::kClosed;
  bool link_closing_ = false;
  bool unreachable_told_ = false;
  std::atomic<bool> overflowed_ = false;
  Duration redial_;
  Time dial_at_;
  Time last_heard_;                             ///< any message of the server
  Time last_look_;                              ///< at the workers
  bool look_now_ = true;
  Time health_look_;                            ///< at the node's health
  std::optional<Time> wake_at_;
  Time lease_held_;                             ///< the lease's end that the substrate knows
  std::map<WorkerKey, ProcessState> known_;     ///< as the brain was last told
  std::vector<node::EventBody> own_events_;     ///< what effects led to, for after them
  std::string quit_why_;
  bool stopping_ = false;
  bool taking_workers_ = false;
  std::optional<Time> over_at_;                 ///< when stopping: the last words' time is up
};

}  // namespace keiko::agent
