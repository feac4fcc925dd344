// The turn of the loop, and carrying out effects.
#include "server/server_loop.h"

#include <algorithm>
#include <chrono>
#include <type_traits>

#include "base/log.h"
#include "wire/convert.h"

namespace keiko::server {
namespace {

constexpr Duration kTick = seconds(1);
constexpr Duration kLongestRest = seconds(1);  // deadlines come with a pass: leases end this late

}  // namespace

ServerLoop::ServerLoop(const LoopOptions& options, Journal& journal, Clock& clock,
                       Recovery recovery, ServerProbe& probe)
    : options_(options),
      journal_(journal),
      clock_(clock),
      probe_(probe),
      term_(recovery.term.number),
      brain_(std::in_place, std::move(recovery.replayed.state), term_, clock.now()),
      commits_(options, journal, recovery.replayed.last_sequence,
               recovery.replayed.records_since_snapshot, probe),
      agents_(clock),
      events_(term_, options.event_ring),
      inbox_(options.queue_limit) {}

ServerLoop::~ServerLoop() { stop(); }

Done ServerLoop::start(LoopWatcher& watcher) {
  watcher_ = &watcher;
  const Time now = clock_.now();
  commits_.add(brain_->start(now));
  Committed first = commits_.commit(now);
  if (first.outcome != CommitOutcome::kCommitted) {
    if (first.outcome == CommitOutcome::kHeld) {
      return resource_exhausted("the server cannot start, as its journal cannot be written: " +
                                commits_.why_full());
    }
    return first.error;
  }
  deliver(first.effects);
  thread_ = std::thread([this] { run(); });
  return done();
}

void ServerLoop::stop() {
  inbox_.close();
  if (thread_.joinable()) thread_.join();
}

void ServerLoop::post_commands(std::vector<CommandItem> items) {
  const Done pushed = inbox_.push_commands(items);
  if (pushed.ok()) return;
  probe_.refused_commands.add(items.size());
  for (const CommandItem& item : items) item.on_reply(pushed.error(), {});
}

void ServerLoop::run() {
  Inbox::Batch batch;
  bool open = true;
  while (open && !failed_) {
    open = inbox_.take(batch, time_to_sleep());
    turn(batch);
  }
  drain();
}

void ServerLoop::drain() {
  const Error stopping = unavailable("the server is stopping; try again in a moment");
  answer_waiting(stopping);
  Inbox::Batch rest;
  inbox_.take(rest, Duration{});
  for (auto& item : rest.events) {
    if (auto* command = std::get_if<CommandItem>(&item)) command->on_reply(stopping, {});
  }
  for (Task& task : rest.tasks) tasks_.push_back(std::move(task));
  while (!tasks_.empty()) run_tasks();
}

void ServerLoop::turn(Inbox::Batch& batch) {
  step_events(batch);
  for (Task& task : batch.tasks) tasks_.push_back(std::move(task));
  run_tasks();
  wake_if_due();
  if (connections_changed_ && !failed_) {
    connections_changed_ = false;
    watcher_->on_connections_changed(view());
  }
  const Time now = clock_.now();
  if (now - last_tick_ >= kTick && !failed_) {
    last_tick_ = now;
    watcher_->on_tick(view());
  }
}

namespace {

/// RETURNS: the connection that said it and waits for the server to read on; 0 if none does.
uint64_t speaker_of(const cluster::EventBody& body) {
  return std::visit(
      [](const auto& event) -> uint64_t {
        using E = std::decay_t<decltype(event)>;
        constexpr bool kSpoken = !std::is_same_v<E, cluster::Command> &&
                                 !std::is_same_v<E, cluster::Wake> &&
                                 !std::is_same_v<E, cluster::ConnectionClosed>;
        if constexpr (kSpoken) return event.connection;
        else return 0;
      },
      body);
}

}  // namespace

void ServerLoop::step_events(Inbox::Batch& batch) {
  const Time now = clock_.now();
  std::vector<uint64_t> heard;
  for (auto& item : batch.events) {
    if (auto* command = std::get_if<CommandItem>(&item)) {
      step_command(*command, now);
    } else {
      auto& body = std::get<cluster::EventBody>(item);
      if (const uint64_t connection = speaker_of(body); connection != 0) {
        heard.push_back(connection);
      }
      step_agent(body, now);
    }
  }
  if (!batch.events.empty()) {
    probe_.batch_events.observe(static_cast<double>(batch.events.size()));
    commit();
  } else if (const auto retry = commits_.retry_at(); retry && now >= *retry) {
    commit();
  }
  for (const uint64_t connection : heard) {
    if (const auto port = agents_.find(connection)) port->read_next();
  }
}

void ServerLoop::step_command(CommandItem& item, Time now) {
  const Done accepts = commits_.check_accepts_commands(now);
  if (!accepts.ok()) {
    probe_.refused_commands.add();
    item.on_reply(accepts.error(), {});
    return;
  }
  probe_.commands.add();
  const uint64_t request = next_request_++;
  replies_[request] = std::move(item.on_reply);
  commits_.add(brain_->step({now, cluster::Command{request, std::move(item.body)}}));
}

void ServerLoop::step_agent(cluster::EventBody& body, Time now) {
  probe_.reports.add();
  const bool routine = std::holds_alternative<cluster::ReportReceived>(body) ||
                       std::holds_alternative<cluster::HealthReceived>(body);
  if (!routine) {
    connections_changed_ = true;
    wake_wanted_ = true;
  }
  commits_.add(brain_->step({now, std::move(body)}));
}

void ServerLoop::run_tasks() {
  const auto start = std::chrono::steady_clock::now();
  const auto slice = std::chrono::nanoseconds(options_.read_slice.ns);
  while (!tasks_.empty() && std::chrono::steady_clock::now() - start < slice) {
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
  }
}

void ServerLoop::wake_if_due() {
  if (failed_) return;
  const Time now = clock_.now();
  const bool wanted = wake_wanted_ || (wake_at_ && *wake_at_ <= now);
  if (!wanted) return;
  if (now < rest_until_) return;
  const bool busy = !inbox_.empty() || !tasks_.empty();
  if (busy && now - last_wake_ < options_.schedule_at_least) return;
  wake_wanted_ = false;
  if (wake_at_ && *wake_at_ <= now)
    wake_at_.reset();  // the brain repeats no time it still counts on
  last_wake_ = now;
  const auto start = std::chrono::steady_clock::now();
  commits_.add(brain_->step({now, cluster::Wake{}}));
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
  probe_.pass_seconds.observe(std::chrono::duration<double>(took).count());
  commit();
  const Duration rest = nanoseconds(took.count()) * options_.pass_rest;
  rest_until_ = clock_.now() + std::min(rest, kLongestRest);
}

void ServerLoop::commit() {
  Committed committed = commits_.commit(clock_.now());
  switch (committed.outcome) {
    case CommitOutcome::kCommitted:
      durable_.reset();
      deliver(committed.effects);
      break;
    case CommitOutcome::kHeld:
      keep_durable_state();
      deliver(committed.effects);
      break;
    case CommitOutcome::kRefused: return start_over(committed.error);
    case CommitOutcome::kFailed: return fail(committed.error);
  }
  if (committed.outcome == CommitOutcome::kHeld) return;
  const Done stored = commits_.snapshot_if_due(brain_->state());
  if (!stored.ok()) fail(stored.error());
}

// Reads must not tell what a crash would take back. Rare, so it may cost a replay and a second
// copy.
void ServerLoop::keep_durable_state() {
  if (durable_) return;
  Result<Replayed> replayed = replay(journal_);
  if (!replayed.ok()) return fail(replayed.error());
  durable_ = std::move(replayed->state);
}

void ServerLoop::deliver(cluster::Effects& effects) {
  for (cluster::Effect& effect : effects) {
    if (std::holds_alternative<cluster::Persist>(effect)) {
      continue;  // done already; what changed is in a note
    } else if (const auto* send = std::get_if<cluster::Send>(&effect)) {
      if (const auto port = agents_.find(send->connection)) port->send(to_proto(send->message));
    } else if (const auto* close = std::get_if<cluster::CloseConnection>(&effect)) {
      if (const auto port = agents_.find(close->connection)) port->close(close->why);
    } else if (const auto* reply = std::get_if<cluster::Reply>(&effect)) {
      const auto waiting = replies_.extract(reply->request);
      if (waiting) waiting.mapped()(reply->result, reply->text);
    } else if (const auto* wake = std::get_if<cluster::WakeAt>(&effect)) {
      wake_at_ = wake_at_ ? std::min(*wake_at_, wake->at) : wake->at;
    } else if (const auto* happened = std::get_if<cluster::Note>(&effect)) {
      note(*happened);
    }
  }
  events_.publish();
  if (changed_jobs_.empty()) return;
  const std::set<JobId> changed = std::exchange(changed_jobs_, {});
  watcher_->on_jobs_changed(view(), changed);
}

void ServerLoop::note(const cluster::Note& note) {
  wake_wanted_ = true;  // something changed: the scheduler may have something to do
  if (note.name == "job_submitted") probe_.submits.add();
  log_info(note.name, note.text);
  v1::Event event;
  set_proto(*event.mutable_at(), clock_.now());
  event.set_name(note.name);
  event.set_text(note.text);
  if (note.job) {
    event.set_job(to_text(note.job));
    changed_jobs_.insert(note.job);
  }
  if (note.node) {
    const auto node = brain_->state().nodes.find(note.node);
    event.set_node(node == brain_->state().nodes.end() ? to_text(note.node)
                                                       : node->second.spec.name);
  }
  events_.append(std::move(event));
}

void ServerLoop::start_over(const Error& why) {
  answer_waiting(why);
  Result<Replayed> replayed = replay(journal_);
  if (!replayed.ok()) return fail(replayed.error());
  log_warn("brain_restarted", "reason=" + quote_text(why.message));
  durable_.reset();
  brain_.emplace(std::move(replayed->state), term_, clock_.now());
  wake_at_.reset();
  wake_wanted_ = true;
  connections_changed_ = true;
  // The new brain knows no session; the agents dial again and say hello, their workers run on.
  for (const auto& port : agents_.all()) port->close("the server restarts its sessions");
}

void ServerLoop::fail(const Error& error) {
  failed_ = true;
  log_error("journal_failed", "error=" + quote_text(error.text()));
  inbox_.close();
  answer_waiting(
      unavailable("the server stops, as its journal cannot be written: " + error.message));
  if (on_failure_) on_failure_(error);
}

void ServerLoop::answer_waiting(const Error& error) {
  for (const auto& [request, on_reply] : std::exchange(replies_, {})) on_reply(error, {});
}

Duration ServerLoop::time_to_sleep() const {
  if (!tasks_.empty()) return Duration{};
  const Time now = clock_.now();
  Time until = now + kTick;
  if (wake_at_) until = std::min(until, *wake_at_);
  if (wake_wanted_) until = now;
  // A rest holds back the scheduler's turn, so neither of the two above is worth waking for before.
  until = std::max(until, std::min(rest_until_, now + kTick));
  if (const auto retry = commits_.retry_at()) until = std::min(until, *retry);
  return std::max(until - now, Duration{});
}

}  // namespace keiko::server
