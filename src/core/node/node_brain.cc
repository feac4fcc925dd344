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
  steps.keep_deadlines();
  std::visit([&](const auto& body) { steps.on(body); }, event.body);
  steps.finish();
  return steps.take();
}

size_t NodeBrain::live_count() const {
  return static_cast<size_t>(std::count_if(workers_.begin(), workers_.end(), [](const auto& entry) {
    return is_live(entry.second.report);
  }));
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

/// A refused agent goes once its workers have ended, by its lease if not before; until then a later
/// hello may still be accepted.
void NodeSteps::quit_if_refused() {
  if (brain_.refused_why_.empty()) return;
  for (const auto& [key, worker] : brain_.workers_) {
    if (is_live(worker.report)) return;
  }
  effects_.push_back(Quit{brain_.refused_why_});
  brain_.refused_why_.clear();
}

void NodeSteps::finish() {
  release_held();
  quit_if_refused();
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
    if (worker.held) consider(worker.held_until);
    const Time stop_at = brain_.lease_end_ - brain_.lease_.stop_before;
    if (!worker.lease_stop) consider(stop_at);
  }
  return next;
}

}  // namespace keiko::node
