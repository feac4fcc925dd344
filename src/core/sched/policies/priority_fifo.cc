// Order: the higher priority first, then the lower job id, which is the order of submission. A
// restarted job keeps its id and so its place in the line.
#include "core/sched/policy.h"

namespace keiko::sched {
namespace {

class PriorityFifoPolicy final : public OrderPolicy {
 public:
  bool before(const JobState& a, const JobState& b) const override {
    if (a.spec.priority != b.spec.priority) return a.spec.priority > b.spec.priority;
    return a.id < b.id;
  }

  std::string explain(const JobState& job) const override {
    return "priority " + std::to_string(job.spec.priority) + ", submitted as " + to_text(job.id);
  }
};

}  // namespace

std::unique_ptr<OrderPolicy> make_priority_fifo() { return std::make_unique<PriorityFifoPolicy>(); }

}  // namespace keiko::sched
