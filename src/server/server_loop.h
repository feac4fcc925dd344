// ServerLoop: the real loop of the cluster brain. One thread owns the brain and the journal.
//
//   inbox -> stamp the time -> step every waiting event -> one append -> carry out the effects
//         -> reads, for a slice -> a turn for deadlines and the scheduler, with its own append
//
// Submits wait for the appends before theirs, and for one pass of the scheduler at most, if one is
// under way: its turn comes when the inbox is empty, or after schedule_at_least, and a long pass is
// followed by a rest. Reads are closures on the state between two batches.
// Public functions are safe from any thread unless they say otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <thread>

#include "ports/clock.h"
#include "server/agent_roster.h"
#include "server/commit_log.h"
#include "server/event_log.h"
#include "server/inbox.h"
#include "server/options.h"
#include "server/recovery.h"

namespace keiko::server {

/// What a read sees; valid during the read only. The tables come from `state`, which holds only
/// what is durable; the brain, which may be ahead of it while the disk is full, tells what is
/// fleeting: connections, progress, verdicts.
struct View {
  const cluster::ClusterBrain& brain;
  const State& state;
  Time now;
  const CommitLog& commits;
  const ReadingBoard& readings;
};

/// Told of what happened, on the loop thread.
class LoopWatcher {
 public:
  virtual ~LoopWatcher() = default;
  virtual void on_jobs_changed(const View& view, const std::set<JobId>& jobs) = 0;
  virtual void on_connections_changed(const View& view) = 0;
  /// About once a second.
  virtual void on_tick(const View& view) = 0;
};

class ServerLoop {
 public:
  ServerLoop(const LoopOptions& options, Journal& journal, Clock& clock, Recovery recovery,
             ServerProbe& probe);
  ~ServerLoop();

  /// Makes the new term durable, then runs. RETURNS: the journal's error.
  Done start(LoopWatcher& watcher);

  /// Refuses what comes, answers what waits, ends the thread. Idempotent.
  void stop();

  /// Called once, from the loop thread, if the journal cannot be written any more.
  void on_failure(std::function<void(const Error&)> callback) { on_failure_ = std::move(callback); }

  /// Each on_reply is called exactly once, here or on the loop thread.
  void post_commands(std::vector<CommandItem> items);
  void post_event(cluster::EventBody body) { inbox_.push_event(std::move(body)); }
  Done post(Task task) { return inbox_.push_task(std::move(task)); }
  void post_from_agent(Task task) { inbox_.push_agent_task(std::move(task)); }

  /// Runs `read` (View -> Result<T>) on the loop thread and hands its result to `then`, which is
  /// called exactly once.
  template <class T, class Read>
  void query(Read read, std::function<void(Result<T>)> then) {
    const Done posted = inbox_.push_task([this, read, then] { then(read(view())); });
    if (!posted.ok()) then(posted.error());
  }

  /// On the loop thread only.
  View view() {
    return {*brain_, durable_ ? *durable_ : brain_->state(), clock_.now(), commits_,
            agents_.readings()};
  }

  AgentRoster& agents() { return agents_; }
  EventLog& events() { return events_; }
  size_t waiting() const { return inbox_.size(); }

 private:
  void run();
  void turn(Inbox::Batch& batch);
  void step_events(Inbox::Batch& batch);
  void step_command(CommandItem& item, Time now);
  void step_agent(cluster::EventBody& body, Time now);
  void run_tasks();
  void wake_if_due();
  void commit();
  void keep_durable_state();
  void deliver(cluster::Effects& effects);
  void note(const cluster::Note& note);
  void start_over(const Error& why);
  void fail(const Error& error);
  void answer_waiting(const Error& error);
  void drain();
  Duration time_to_sleep() const;

  const LoopOptions options_;
  Journal& journal_;
  Clock& clock_;
  ServerProbe& probe_;
  const uint64_t term_;
  std::optional<cluster::ClusterBrain> brain_;
  std::optional<State> durable_;  // while effects are held and the brain is ahead of the journal
  CommitLog commits_;
  AgentRoster agents_;
  EventLog events_;
  Inbox inbox_;
  LoopWatcher* watcher_ = nullptr;
  std::function<void(const Error&)> on_failure_;
  std::thread thread_;

  uint64_t next_request_ = 1;
  std::map<uint64_t, OnReply> replies_;
  std::deque<Task> tasks_;
  std::set<JobId> changed_jobs_;
  bool connections_changed_ = false;
  std::optional<Time> wake_at_;
  bool wake_wanted_ = true;
  Time last_wake_;
  Time rest_until_;  // no turn for the scheduler before, see LoopOptions::pass_rest
  Time last_tick_;
  bool failed_ = false;
};

}  // namespace keiko::server
