#include "core/node/node_brain.h"

#include <algorithm>
#include <utility>

#include "core/node/node_steps.h"

namespace keiko::node {
namespace {

constexpr Time kNever{INT64_MAX};

}  // namespace

NodeBrain::NodeBrain(NodeSpec spec, LeaseOptions lease)
    : spec_(std::move(spec)), lease_(std::move(lease)) {}

Effects NodeBrain::step(const Event& event) {
  NodeSteps steps(*this, event.at);
  std::visit([&](const auto& body) { steps.on(body); }, event.body);
  steps.finish();
  return steps.take();
}

bool is_live(const WorkerReport& report) { return report.status != WorkerStatus::kEnded; }

void NodeSteps::send_report() {
  AgentReport report{brain_.session_, brain_.next_report_++, {}};
  for (auto& [key, worker] : brain_.workers_) {
    report.workers.push_back(worker.report);
    worker.report.progress.reset();
  }
  brain_.report_sent_at_[report.sequence] = now_;
  brain_.next_report_at_ = now_ + brain_.lease_.heartbeat;
  effects_.push_back(SendReport{std::move(report)});
}

void NodeSteps::finish() {
  const bool in_session = brain_.connected_ && brain_.session_.term != 0;
  if (in_session && (news_ || now_ >= brain_.next_report_at_)) send_report();
  const Time next = next_wake();
  const bool pending = brain_.wake_asked_ > now_ && brain_.wake_asked_ <= next;
  if (next == kNever || pending) return;
  brain_.wake_asked_ = next;
  effects_.push_back(WakeAt{next});
}

Time NodeSteps::next_wake() const {
  Time next = kNever;
  const auto consider = [&](Time at) {
    if (at < next) next = std::max(at, now_ + nanoseconds(1));
  };
  if (brain_.connected_ && brain_.session_.term != 0) consider(brain_.next_report_at_);
  for (const auto& [key, worker] : brain_.workers_) {
    if (!is_live(worker.report)) continue;
    if (worker.stop_asked) consider(worker.kill_at);
    const Time stop_at = brain_.lease_end_ - brain_.lease_.stop_before;
    if (!worker.lease_stop) consider(stop_at);
  }
  return next;
}

}  // namespace keiko::node
