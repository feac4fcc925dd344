// A node brain on a table: events in by hand, effects looked up by kind. For tests of this room.
#pragma once

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/node/node_brain.h"

namespace keiko::node {

class NodeFixture {
 public:
  std::function<void()> after_each_step;

  explicit NodeFixture(Adopted adopted = {}) : brain_(spec(), LeaseOptions{}) {
    step(std::move(adopted));
  }

  static NodeSpec spec() {
    NodeSpec result;
    result.name = "a";
    result.instance = "i";
    result.address = "10.0.0.1";
    return result;
  }
  static WorkerKey key(uint64_t job, int32_t rank = 0) { return {JobId{job}, 1, rank}; }
  static WorkerReport report_of(const WorkerKey& of, WorkerStatus status) {
    WorkerReport report;
    report.key = of;
    report.status = status;
    return report;
  }
  static WorkerReport ended(const WorkerKey& of, EndCause cause, int32_t number) {
    WorkerReport report = report_of(of, WorkerStatus::kEnded);
    report.end.cause = cause;
    (cause == EndCause::kExited ? report.end.exit_code : report.end.signal) = number;
    return report;
  }

  /// Time passes, without a wake.
  void pass(Duration duration) { now_ = now_ + duration; }
  const Effects& step(EventBody body) {
    effects_ = brain_.step(Event{now_, std::move(body)});
    for (const Effect& effect : effects_) {
      if (const auto* sent = std::get_if<SendReport>(&effect)) last_report_ = sent->report;
    }
    if (after_each_step) after_each_step();
    return effects_;
  }
  /// Lets time pass to `until`, waking the brain when it asks for it; effects add up.
  void run_until(Time until) {
    Effects all;
    while (wake_ && *wake_ <= until) {
      now_ = std::max(now_, *std::exchange(wake_, std::nullopt));
      step(Wake{});
      all.insert(all.end(), effects_.begin(), effects_.end());
      note_wakes();
    }
    now_ = until;
    effects_ = std::move(all);
  }
  void note_wakes() {
    for (const Effect& effect : effects_) {
      const auto* asked = std::get_if<WakeAt>(&effect);
      if (asked != nullptr && (!wake_ || asked->at < *wake_)) wake_ = asked->at;
    }
  }
  const Effects& feed(EventBody body) {
    step(std::move(body));
    note_wakes();
    return effects_;
  }

  void connect(uint64_t session = 1) {
    feed(Connected{});
    session_ = {1, session};
    command_ = 0;
    say(Welcome{NodeId{1}, LeaseOptions{}});
  }
  const Effects& say(ServerBody body) {
    return feed(FromServer{{session_, ++command_, std::move(body)}});
  }
  const Effects& start(const WorkerKey& of, int32_t master_port = 0) {
    StartWorker order;
    order.launch.key = of;
    order.launch.grace = seconds(30);
    order.launch.master_port = master_port;
    return say(std::move(order));
  }
  const Effects& ack() { return say(ReportAck{last_report_.sequence}); }
  const Effects& changed(WorkerReport report) { return feed(WorkerChanged{std::move(report)}); }

  /// RETURNS: the effects of one kind among the last.
  template <class T>
  std::vector<T> got() const {
    std::vector<T> result;
    for (const Effect& effect : effects_) {
      if (const auto* found = std::get_if<T>(&effect)) result.push_back(*found);
    }
    return result;
  }
  /// RETURNS: the signals among the last effects, in order.
  std::vector<int> signals() const {
    std::vector<int> result;
    for (const SignalWorker& sent : got<SignalWorker>()) result.push_back(sent.signal);
    return result;
  }
  const WorkerReport& reported(size_t index = 0) const { return last_report_.workers.at(index); }
  const AgentReport& last_report() const { return last_report_; }
  const NodeBrain& brain() const { return brain_; }
  Time now() const { return now_; }
  Session session() const { return session_; }
  uint64_t last_command() const { return command_; }

 private:
  NodeBrain brain_;
  Time now_{seconds(1000).ns};
  Effects effects_;
  AgentReport last_report_;
  std::optional<Time> wake_;
  Session session_;
  uint64_t command_ = 0;
};

}  // namespace keiko::node
