// The agent's start, and the stream to the server that comes and goes.
#include "core/node/node_steps.h"

namespace keiko::node {

// An agent that starts again holds the lease of the one before it, no longer: the server counts
// from that one's last report. Without a lease on record nothing may run on.
void NodeSteps::on(const Adopted& event) {
  brain_.lease_end_ = event.lease_end.value_or(now_);
  for (const WorkerReport& report : event.workers) {
    brain_.workers_[report.key].report = report;
    learn_port(report);
    effects_.push_back(Note{"worker_adopted", to_text(report.key) + " " + to_text(report.status)});
  }
  guard_lease();
}

void NodeSteps::on(const Connected& /*event*/) {
  brain_.connected_ = true;
  brain_.session_ = {};
  brain_.report_sent_at_.clear();
  brain_.hello_sent_at_ = now_;
  AgentHello hello{brain_.spec_, {}};
  for (const auto& [key, worker] : brain_.workers_) hello.workers.push_back(worker.report);
  effects_.push_back(SendHello{std::move(hello)});
}

void NodeSteps::on(const Disconnected& /*event*/) {
  brain_.connected_ = false;
  brain_.session_ = {};
  brain_.report_sent_at_.clear();
  effects_.push_back(Note{"disconnected", ""});
}

}  // namespace keiko::node
