// What agent and server say to each other.
#include "wire/convert.h"

namespace keiko {

v1::LeaseOptions to_proto(const LeaseOptions& options) {
  v1::LeaseOptions out;
  set_proto(*out.mutable_heartbeat(), options.heartbeat);
  set_proto(*out.mutable_slow_after(), options.slow_after);
  set_proto(*out.mutable_unreachable_after(), options.unreachable_after);
  set_proto(*out.mutable_lease(), options.lease);
  set_proto(*out.mutable_stop_before(), options.stop_before);
  set_proto(*out.mutable_kill_before(), options.kill_before);
  return out;
}

Result<LeaseOptions> from_proto(const v1::LeaseOptions& in) {
  LeaseOptions options;
  options.heartbeat = TRY(from_proto(in.heartbeat(), "heartbeat"));
  options.slow_after = TRY(from_proto(in.slow_after(), "slow_after"));
  options.unreachable_after = TRY(from_proto(in.unreachable_after(), "unreachable_after"));
  options.lease = TRY(from_proto(in.lease(), "lease"));
  options.stop_before = TRY(from_proto(in.stop_before(), "stop_before"));
  options.kill_before = TRY(from_proto(in.kill_before(), "kill_before"));
  return options;
}

v1::AgentHello to_proto(const AgentHello& hello) {
  v1::AgentHello out;
  *out.mutable_node() = to_proto(hello.node);
  for (const WorkerReport& worker : hello.workers) *out.add_workers() = to_proto(worker);
  return out;
}

Result<AgentHello> from_proto(const v1::AgentHello& in) {
  AgentHello hello;
  hello.node = TRY(from_proto(in.node()));
  for (const v1::WorkerReport& w : in.workers()) hello.workers.push_back(TRY(from_proto(w)));
  return hello;
}

namespace {

void set_session(v1::SessionId& out, const Session& session) {
  out.set_term(session.term);
  out.set_number(session.number);
}

Session session_of(const v1::SessionId& in) { return {in.term(), in.number()}; }

}  // namespace

v1::AgentReport to_proto(const AgentReport& report) {
  v1::AgentReport out;
  set_session(*out.mutable_session(), report.session);
  out.set_sequence(report.sequence);
  for (const WorkerReport& worker : report.workers) *out.add_workers() = to_proto(worker);
  return out;
}

Result<AgentReport> from_proto(const v1::AgentReport& in) {
  AgentReport report;
  report.session = session_of(in.session());
  report.sequence = in.sequence();
  for (const v1::WorkerReport& w : in.workers()) report.workers.push_back(TRY(from_proto(w)));
  return report;
}

v1::WorkerLaunch to_proto(const WorkerLaunch& launch) {
  v1::WorkerLaunch out;
  *out.mutable_key() = to_proto(launch.key);
  out.set_job_name(launch.job_name);
  out.set_user(launch.user);
  out.mutable_command()->Assign(launch.command.begin(), launch.command.end());
  out.mutable_env()->insert(launch.env.begin(), launch.env.end());
  out.set_workdir(launch.workdir);
  for (const Device& device : launch.devices) *out.add_devices() = to_proto(device);
  out.set_cpu_milli(launch.cpu_milli);
  out.set_memory(launch.memory.count);
  set_proto(*out.mutable_grace(), launch.grace);
  out.set_log_limit(launch.log_limit.count);
  out.set_slurm_env(launch.slurm_env);
  out.set_checkpoint_dir(launch.checkpoint_dir);
  out.set_resume_from(launch.resume_from);
  out.set_restarts_left(launch.restarts_left);
  out.set_world_size(launch.world_size);
  out.set_local_rank(launch.local_rank);
  out.set_local_world_size(launch.local_world_size);
  out.set_group_rank(launch.group_rank);
  out.set_group_world_size(launch.group_world_size);
  out.mutable_node_addresses()->Assign(launch.node_addresses.begin(), launch.node_addresses.end());
  out.mutable_node_names()->Assign(launch.node_names.begin(), launch.node_names.end());
  out.mutable_ranks_per_node()->Assign(launch.ranks_per_node.begin(), launch.ranks_per_node.end());
  out.set_master_address(launch.master_address);
  out.set_master_port(launch.master_port);
  out.set_image(launch.image);
  for (const Mount& mount : launch.mounts) *out.add_mounts() = to_proto(mount);
  return out;
}

Result<WorkerLaunch> from_proto(const v1::WorkerLaunch& in) {
  WorkerLaunch launch;
  launch.key = from_proto(in.key());
  launch.job_name = in.job_name();
  launch.user = in.user();
  launch.command.assign(in.command().begin(), in.command().end());
  launch.env.insert(in.env().begin(), in.env().end());
  launch.workdir = in.workdir();
  for (const v1::Device& device : in.devices()) launch.devices.push_back(from_proto(device));
  launch.cpu_milli = in.cpu_milli();
  launch.memory.count = in.memory();
  launch.grace = TRY(from_proto(in.grace(), "grace"));
  launch.log_limit.count = in.log_limit();
  launch.slurm_env = in.slurm_env();
  launch.checkpoint_dir = in.checkpoint_dir();
  launch.resume_from = in.resume_from();
  launch.restarts_left = in.restarts_left();
  launch.world_size = in.world_size();
  launch.local_rank = in.local_rank();
  launch.local_world_size = in.local_world_size();
  launch.group_rank = in.group_rank();
  launch.group_world_size = in.group_world_size();
  launch.node_addresses.assign(in.node_addresses().begin(), in.node_addresses().end());
  launch.node_names.assign(in.node_names().begin(), in.node_names().end());
  launch.ranks_per_node.assign(in.ranks_per_node().begin(), in.ranks_per_node().end());
  launch.master_address = in.master_address();
  launch.master_port = in.master_port();
  launch.image = in.image();
  for (const v1::Mount& mount : in.mounts()) launch.mounts.push_back(from_proto(mount));
  return launch;
}

v1::LogChunk to_proto(const LogChunk& chunk) {
  v1::LogChunk out;
  out.set_request(chunk.request);
  out.set_offset(chunk.offset);
  out.set_data(chunk.data);
  out.set_eof(chunk.eof);
  out.set_ended(chunk.ended);
  out.set_error(chunk.error);
  return out;
}

LogChunk from_proto(v1::LogChunk in) {
  return {in.request(), in.offset(), std::move(*in.mutable_data()),
          in.eof(),     in.ended(),  std::move(*in.mutable_error())};
}

v1::LogRead to_proto(const LogRead& read) {
  v1::LogRead out;
  out.set_request(read.request);
  *out.mutable_key() = to_proto(read.key);
  out.set_stream(to_text(read.stream));
  out.set_offset(read.offset);
  out.set_max_bytes(read.max_bytes);
  out.set_follow(read.follow);
  return out;
}

Result<LogRead> from_proto(const v1::LogRead& in) {
  LogRead read;
  read.request = in.request();
  read.key = from_proto(in.key());
  read.stream = TRY(parse_log_stream(in.stream()));
  read.offset = in.offset();
  read.max_bytes = in.max_bytes();
  read.follow = in.follow();
  return read;
}

}  // namespace keiko
