#include "sim/checkers.h"

#include <algorithm>

namespace keiko::sim {
namespace {

class DeviceOnceChecker final : public Checker {
 public:
  const char* name() const override { return "no_device_leased_twice"; }

  void process_started(const LiveProcess& process, const NodeSpec& /*node*/) override {
    for (const Device& device : process.launch.devices) {
      const auto [holder, fresh] = holders_.emplace(device.uuid, process.key);
      if (!fresh) {
        violated("device " + device.uuid + " runs " + to_text(process.key) + " and " +
                 to_text(holder->second));
      }
    }
    const auto rank = std::pair{process.key.job, process.key.rank};
    const auto [copy, fresh] = ranks_.emplace(rank, process.key);
    if (!fresh) {
      violated("two copies of one rank run: " + to_text(process.key) + " and " +
               to_text(copy->second));
    }
  }

  void process_ended(const LiveProcess& process) override {
    for (const Device& device : process.launch.devices) {
      const auto holder = holders_.find(device.uuid);
      if (holder != holders_.end() && holder->second == process.key) holders_.erase(holder);
    }
    const auto copy = ranks_.find(std::pair{process.key.job, process.key.rank});
    if (copy != ranks_.end() && copy->second == process.key) ranks_.erase(copy);
  }

 private:
  std::map<std::string, WorkerKey> holders_;
  std::map<std::pair<JobId, int32_t>, WorkerKey> ranks_;
};

class GangWholeChecker final : public Checker {
 public:
  const char* name() const override { return "gang_all_or_nothing"; }

  void server_stepped(const State& state) override {
    for (const JobId id : state.active) {
      const JobState& job = state.jobs.at(id);
      if (job.workers.size() != static_cast<size_t>(job.spec.workers)) {
        violated(to_text(id) + " has " + std::to_string(job.workers.size()) + " of " +
                 std::to_string(job.spec.workers) + " ranks placed");
      }
      if (job.status == JobStatus::kRunning || job.status == JobStatus::kStarting) {
        check_unwounded(job);
      }
    }
    for (const JobId id : state.pending) {
      if (!state.jobs.at(id).workers.empty()) violated(to_text(id) + " waits with ranks placed");
    }
  }

 private:
  /// A gang with a rank that ended badly must be stopping, in the very step that learned of it.
  void check_unwounded(const JobState& job) {
    for (size_t rank = 0; rank < job.workers.size(); ++rank) {
      const WorkerState& worker = job.workers[rank];
      if (worker.status != WorkerStatus::kEnded) continue;
      const bool well = worker.end.cause == EndCause::kExited && worker.end.exit_code == 0;
      if (!well) {
        violated(to_text(job.id) + " is " + to_text(job.status) + " though rank " +
                 std::to_string(rank) + " " + to_text(worker.end.cause));
      }
    }
  }
};

class CapacityChecker final : public Checker {
 public:
  const char* name() const override { return "quota_never_exceeded"; }

  void process_started(const LiveProcess& process, const NodeSpec& node) override {
    Use& use = uses_[process.node];
    use.cpu_milli += process.launch.cpu_milli;
    use.memory = use.memory + process.launch.memory;
    if (use.cpu_milli > node.cpu_milli || use.memory > node.memory) {
      violated(process.node + " runs " + std::to_string(use.cpu_milli) + " milli-cpu of " +
               std::to_string(node.cpu_milli) + " with " + to_text(process.key));
    }
  }

  void process_ended(const LiveProcess& process) override {
    Use& use = uses_[process.node];
    use.cpu_milli -= process.launch.cpu_milli;
    use.memory = use.memory - process.launch.memory;
  }

 private:
  struct Use {
    int64_t cpu_milli = 0;
    Bytes memory;
  };
  std::map<std::string, Use> uses_;
};

class JobEndsChecker final : public Checker {
 public:
  const char* name() const override { return "every_job_ends_or_says_why"; }

  void at_end(const Outcome& outcome) override {
    for (const auto& [id, job] : outcome.state->jobs) {
      if (job.status == JobStatus::kCompleted) continue;
      // A job that is placed says where it stands; it needs no reason for not running.
      const bool placed = outcome.state->active.contains(id);
      if (job.message.empty() || (!placed && job.reason == Reason::kNone)) {
        violated(to_text(id) + " is " + to_text(job.status) + " and does not say why");
      }
    }
  }
};

class AcknowledgedChecker final : public Checker {
 public:
  const char* name() const override { return "nothing_acknowledged_is_lost"; }

  void acknowledged(JobId job, const std::string& token) override {
    const auto [known, fresh] = jobs_.emplace(token, job);
    if (!fresh && known->second != job) {
      violated("token " + token + " made " + to_text(known->second) + " and " + to_text(job));
    }
  }

  void server_stepped(const State& state) override {
    if (state.term == checked_term_) return;  // once after each start is enough: nothing is deleted
    checked_term_ = state.term;
    check(state);
  }

  void at_end(const Outcome& outcome) override { check(*outcome.state); }

 private:
  void check(const State& state) {
    for (const auto& [token, job] : jobs_) {
      const auto found = state.jobs.find(job);
      if (found == state.jobs.end() || found->second.token != token) {
        violated(to_text(job) + " was acknowledged and is gone");
      }
    }
  }

  std::map<std::string, JobId> jobs_;
  uint64_t checked_term_ = 0;
};

class ReplayChecker final : public Checker {
 public:
  const char* name() const override { return "replay_digest_equals_live"; }

  void replayed(Digest live, Digest replay) override {
    if (live != replay) {
      violated("the live state is " + to_text(live) + ", its journal replays to " +
               to_text(replay));
    }
  }

  void server_stepped(const State& state) override {
    if (++steps_ % 64 != 0) return;
    if (const Done sound = check_state(state); !sound.ok()) violated(sound.error().message);
  }

 private:
  uint64_t steps_ = 0;
};

class CheckpointChecker final : public Checker {
 public:
  const char* name() const override { return "committed_checkpoint_is_restorable"; }

  void checkpoint_written(JobId job, const CheckpointMark& mark) override {
    written_[job].emplace(mark.ref, mark.step);
  }

  void server_stepped(const State& state) override {
    for (const JobId id : state.active) {
      const JobState& job = state.jobs.at(id);
      int64_t& committed = committed_[id];
      if (job.checkpoint.step < committed) {
        violated(to_text(id) + "'s checkpoint went back to step " +
                 std::to_string(job.checkpoint.step));
      }
      if (job.checkpoint.step == committed) continue;
      committed = job.checkpoint.step;
      if (!is_written(id, job.checkpoint.ref, job.checkpoint.step)) {
        violated(to_text(id) + " committed a checkpoint that was never written: step " +
                 std::to_string(job.checkpoint.step));
      }
    }
  }

  void process_started(const LiveProcess& process, const NodeSpec& /*node*/) override {
    const std::string& ref = process.launch.resume_from;
    const auto known = written_.find(process.key.job);
    if (ref.empty()) return;
    if (known == written_.end() || !known->second.contains(ref)) {
      violated(to_text(process.key) + " is told to resume from '" + ref + "', which is not there");
    }
  }

 private:
  bool is_written(JobId job, const std::string& ref, int64_t step) const {
    const auto known = written_.find(job);
    if (known == written_.end()) return false;
    const auto mark = known->second.find(ref);
    return mark != known->second.end() && mark->second == step;
  }

  std::map<JobId, std::map<std::string, int64_t>> written_;
  std::map<JobId, int64_t> committed_;
};

class LivenessChecker final : public Checker {
 public:
  const char* name() const override { return "work_resumes_after_healing"; }

  void at_end(const Outcome& outcome) override {
    if (!outcome.healed) return;
    for (const auto& [id, job] : outcome.state->jobs) {
      if (is_final(job.status)) continue;
      violated(to_text(id) + " is still " + to_text(job.status) + " long after all faults ended: " +
               job.message);
    }
  }
};

}  // namespace

std::vector<std::unique_ptr<Checker>> make_checkers() {
  std::vector<std::unique_ptr<Checker>> checkers;
  checkers.push_back(std::make_unique<DeviceOnceChecker>());
  checkers.push_back(std::make_unique<GangWholeChecker>());
  checkers.push_back(std::make_unique<CapacityChecker>());
  checkers.push_back(std::make_unique<JobEndsChecker>());
  checkers.push_back(std::make_unique<AcknowledgedChecker>());
  checkers.push_back(std::make_unique<ReplayChecker>());
  checkers.push_back(std::make_unique<CheckpointChecker>());
  checkers.push_back(std::make_unique<LivenessChecker>());
  return checkers;
}

}  // namespace keiko::sim
