#include "base/text.h"
#include "server/attach/attach_relay.h"
#include "server/queries.h"

namespace keiko::server {
namespace {

std::string hint_for(const JobState& job) {
  const std::string id = to_text(job.id);
  if (is_final(job.status)) return "; its output is kept: keiko logs " + id;
  return "; wait until it runs: keiko why " + id;
}

}  // namespace

Result<AttachTarget> find_attach_target(const State& state, const v1::AttachOpen& open) {
  const JobState& job = *TRY(find_job(state, open.job()));
  const std::string id = to_text(job.id);
  if (open.rank() < 0 || open.rank() >= job.spec.workers) {
    return invalid_argument(
        "job " + id + " has no rank " + std::to_string(open.rank()) + "; its ranks are 0 to " +
        std::to_string(job.spec.workers - 1));
  }
  const auto rank = static_cast<size_t>(open.rank());
  if (is_final(job.status) || rank >= job.workers.size()) {
    return failed_precondition("job " + id + " is " + to_text(job.status) +
                               " and has no running worker" + hint_for(job));
  }
  const WorkerState& worker = job.workers[rank];
  if (worker.status != WorkerStatus::kRunning && worker.status != WorkerStatus::kStopping) {
    return failed_precondition("rank " + std::to_string(open.rank()) + " of job " + id + " is " +
                               to_text(worker.status) + hint_for(job));
  }
  return AttachTarget{{job.id, job.attempt, open.rank()}, worker.place.node};
}

}  // namespace keiko::server
