// The server's commands. Only those of the current session count, and only in rising order: a start
// that was overtaken by a stop never runs.
#include <algorithm>
#include <csignal>

#include "core/node/node_steps.h"

namespace keiko::node {

void NodeSteps::on(const FromServer& event) {
  const ServerMessage& message = event.message;
  if (!brain_.connected_) return;
  if (std::holds_alternative<Refused>(message.body)) return obey(std::get<Refused>(message.body));
  if (std::holds_alternative<Welcome>(message.body)) {
    if (message.session <= brain_.session_) return;
    brain_.session_ = message.session;
    brain_.last_command_ = message.sequence;
    return obey(std::get<Welcome>(message.body));
  }
  if (message.session != brain_.session_ || message.sequence <= brain_.last_command_) return;
  brain_.last_command_ = message.sequence;
  std::visit([&](const auto& body) { obey(body); }, message.body);
}

// The server counts the lease from the hello's arrival, this side from when it was sent.
void NodeSteps::obey(const Welcome& welcome) {
  brain_.lease_ = welcome.lease;
  brain_.next_report_ = 1;
  brain_.report_sent_at_.clear();
  brain_.refused_why_.clear();
  brain_.lease_end_ = std::max(brain_.lease_end_, brain_.hello_sent_at_ + brain_.lease_.lease);
  effects_.push_back(Note{"welcome", "node=" + to_text(welcome.node) + " term=" +
                                         std::to_string(brain_.session_.term)});
  news_ = true;
}

void NodeSteps::obey(const Refused& refused) {
  brain_.session_ = {};
  brain_.refused_why_ = refused.why.empty() ? "the server gave no reason" : refused.why;
}

void NodeSteps::obey(const ReportAck& ack) {
  const auto sent = brain_.report_sent_at_.find(ack.report_sequence);
  if (sent == brain_.report_sent_at_.end()) return;
  brain_.lease_end_ = std::max(brain_.lease_end_, sent->second + brain_.lease_.lease);
  brain_.report_sent_at_.erase(brain_.report_sent_at_.begin(), std::next(sent));
}

void NodeSteps::obey(const StopWorker& order) {
  const auto found = brain_.workers_.find(order.key);
  if (found != brain_.workers_.end()) {
    if (is_live(found->second.report)) stop(found->second, order.grace, order.why);
    return;
  }
  WorkerReport& report = brain_.workers_[order.key].report;
  report.key = order.key;
  report.status = WorkerStatus::kEnded;
  report.end.cause = EndCause::kVanished;
  report.end.last_words = "it never ran here";
  news_ = true;
}

void NodeSteps::obey(const ForgetWorker& forget) {
  const auto found = brain_.workers_.find(forget.key);
  if (found == brain_.workers_.end() || is_live(found->second.report)) return;
  brain_.workers_.erase(found);
  effects_.push_back(ForgetProcess{forget.key});
}

void NodeSteps::obey(const HealthOrder& order) { effects_.push_back(ActOnHealth{order}); }

void NodeSteps::stop(NodeBrain::Worker& worker, Duration grace, const std::string& why) {
  const Time kill_at = now_ + grace;
  if (worker.stop_asked) {
    worker.kill_at = std::min(worker.kill_at, kill_at);
    return;
  }
  worker.stop_asked = true;
  if (worker.held) return end_held(worker);
  worker.kill_at = kill_at;
  worker.report.status = WorkerStatus::kStopping;
  news_ = true;
  const WorkerKey key = worker.report.key;
  effects_.push_back(Note{"stop_worker", to_text(key) + " why=" + quote_text(why)});
  effects_.push_back(NoticeWorker{key, grace, why});
  effects_.push_back(SignalWorker{key, SIGTERM});
}

}  // namespace keiko::node
