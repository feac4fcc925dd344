// Jobs, verdicts and how workers fare.
#include "base/utf8.h"
#include "wire/convert.h"
#include "wire/words.h"

namespace keiko {

v1::Mount to_proto(const Mount& mount) {
  v1::Mount out;
  out.set_source(mount.source);
  out.set_target(mount.target);
  out.set_read_only(mount.read_only);
  return out;
}

Mount from_proto(const v1::Mount& in) { return {in.source(), in.target(), in.read_only()}; }

v1::JobSpec to_proto(const JobSpec& spec) {
  v1::JobSpec out;
  out.set_name(spec.name);
  out.set_kind(to_text(spec.kind));
  out.set_user(spec.user);
  out.set_queue(spec.queue);
  out.set_priority(spec.priority);
  out.mutable_command()->Assign(spec.command.begin(), spec.command.end());
  out.mutable_env()->insert(spec.env.begin(), spec.env.end());
  out.set_workdir(spec.workdir);
  out.set_workers(spec.workers);
  out.set_devices(spec.devices);
  out.set_device_kind(spec.device_kind);
  out.set_device_memory(spec.device_memory.count);
  out.set_cpu_milli(spec.cpu_milli);
  out.set_memory(spec.memory.count);
  if (spec.restarts != kByKind) out.set_restarts(spec.restarts);
  out.set_infra_restarts(spec.infra_restarts);
  set_proto(*out.mutable_grace(), spec.grace);
  if (spec.time_limit != Duration{}) set_proto(*out.mutable_time_limit(), spec.time_limit);
  out.set_log_limit(spec.log_limit.count);
  out.set_slurm_env(spec.slurm_env);
  out.set_checkpoint_dir(spec.checkpoint_dir);
  out.mutable_node_labels()->insert(spec.node_labels.begin(), spec.node_labels.end());
  out.set_one_node(spec.one_node);
  out.set_image(spec.image);
  for (const Mount& mount : spec.mounts) *out.add_mounts() = to_proto(mount);
  return out;
}

Result<JobSpec> from_proto(const v1::JobSpec& in) {
  JobSpec spec;  // its defaults stand for what is absent
  spec.name = in.name();
  if (!in.kind().empty()) spec.kind = TRY(parse_word(in.kind(), kJobKinds, "kind"));
  spec.user = in.user();
  if (!in.queue().empty()) spec.queue = in.queue();
  spec.priority = in.priority();
  spec.command.assign(in.command().begin(), in.command().end());
  spec.env.insert(in.env().begin(), in.env().end());
  spec.workdir = in.workdir();
  if (in.has_workers()) spec.workers = in.workers();
  spec.devices = in.devices();
  spec.device_kind = in.device_kind();
  spec.device_memory.count = in.device_memory();
  if (in.has_cpu_milli()) spec.cpu_milli = in.cpu_milli();
  spec.memory.count = in.memory();
  if (in.has_restarts() && in.restarts() == kByKind) {
    return Error{Code::kInvalidArgument, "-1 is out of range; leave it out or give 0 to 1000000",
                 "restarts"};
  }
  if (in.has_restarts()) spec.restarts = in.restarts();
  spec.restarts = allowed_restarts(spec);  // recorded, so that a later default changes no old job
  if (in.has_infra_restarts()) spec.infra_restarts = in.infra_restarts();
  if (in.has_grace()) spec.grace = TRY(from_proto(in.grace(), "grace"));
  spec.time_limit = TRY(from_proto(in.time_limit(), "time_limit"));
  if (in.has_log_limit()) spec.log_limit.count = in.log_limit();
  spec.slurm_env = in.slurm_env();
  spec.checkpoint_dir = in.checkpoint_dir();
  spec.node_labels.insert(in.node_labels().begin(), in.node_labels().end());
  spec.one_node = in.one_node();
  spec.image = in.image();
  for (const v1::Mount& mount : in.mounts()) spec.mounts.push_back(from_proto(mount));
  return spec;
}

v1::Checkpoint to_proto(const CheckpointMark& mark) {
  v1::Checkpoint out;
  out.set_step(mark.step);
  out.set_ref(clean_utf8(mark.ref));
  return out;
}

CheckpointMark from_proto(const v1::Checkpoint& in) { return {in.step(), in.ref()}; }

v1::Progress to_proto(const Progress& progress) {
  v1::Progress out;
  out.set_step(progress.step);
  out.set_total_steps(progress.total_steps);
  out.set_loss(progress.loss);
  out.set_samples(progress.samples);
  out.set_tokens(progress.tokens);
  out.set_tokens_per_s(progress.tokens_per_s);
  return out;
}

Progress from_proto(const v1::Progress& in) {
  return {in.step(), in.total_steps(), in.loss(), in.samples(), in.tokens(), in.tokens_per_s()};
}

v1::WorkerEnd to_proto(const WorkerEnd& end) {
  v1::WorkerEnd out;
  out.set_cause(to_text(end.cause));
  out.set_exit_code(end.exit_code);
  out.set_signal(end.signal);
  out.set_last_words(clean_utf8(end.last_words));
  set_proto(*out.mutable_ran(), end.ran);
  set_proto(*out.mutable_user_cpu(), end.user_cpu);
  out.set_max_rss(end.max_rss.count);
  return out;
}

Result<WorkerEnd> from_proto(const v1::WorkerEnd& in) {
  WorkerEnd end;
  if (!in.cause().empty()) end.cause = TRY(parse_word(in.cause(), kEndCauses, "end.cause"));
  end.exit_code = in.exit_code();
  end.signal = in.signal();
  end.last_words = in.last_words();
  end.ran = TRY(from_proto(in.ran(), "end.ran"));
  end.user_cpu = TRY(from_proto(in.user_cpu(), "end.user_cpu"));
  end.max_rss.count = in.max_rss();
  return end;
}

v1::WorkerKey to_proto(const WorkerKey& key) {
  v1::WorkerKey out;
  out.set_job(key.job.number);
  out.set_attempt(key.attempt);
  out.set_rank(key.rank);
  return out;
}

WorkerKey from_proto(const v1::WorkerKey& in) {
  return {JobId{in.job()}, in.attempt(), in.rank()};
}

v1::WorkerReport to_proto(const WorkerReport& report) {
  v1::WorkerReport out;
  *out.mutable_key() = to_proto(report.key);
  out.set_status(to_text(report.status));
  out.set_pid(report.pid);
  out.set_master_port(report.master_port);
  if (report.checkpoint != CheckpointMark{}) {
    *out.mutable_checkpoint() = to_proto(report.checkpoint);
  }
  if (report.end != WorkerEnd{}) *out.mutable_end() = to_proto(report.end);
  if (report.progress) *out.mutable_progress() = to_proto(*report.progress);
  return out;
}

Result<WorkerReport> from_proto(const v1::WorkerReport& in) {
  WorkerReport report;
  report.key = from_proto(in.key());
  report.status = TRY(parse_word(in.status(), kWorkerStatuses, "status"));
  report.pid = in.pid();
  report.master_port = in.master_port();
  report.checkpoint = from_proto(in.checkpoint());
  report.end = TRY(from_proto(in.end()));
  if (in.has_progress()) report.progress = from_proto(in.progress());
  return report;
}

v1::Verdict to_proto(const Verdict& verdict) {
  v1::Verdict out;
  out.set_fit(to_text(verdict.fit));
  out.set_reason(to_text(verdict.reason));
  out.set_sentence(verdict.sentence);
  for (const Cure cure : verdict.cured_by) out.add_cured_by(to_text(cure));
  for (const Clause& clause : verdict.clauses) {
    v1::Clause& added = *out.add_clauses();
    added.set_name(clause.name);
    added.set_rejected(clause.rejected);
    added.set_nearest(clause.nearest);
  }
  return out;
}

}  // namespace keiko
