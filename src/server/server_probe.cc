// Names and help texts of every metric in one place.
#include "server/server_probe.h"

#include <array>

namespace keiko::server {
namespace {

const std::vector<double> kSeconds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                   0.025,  0.05,    0.1,    0.25,  0.5,    1,     2.5};

constexpr std::array kJobStatuses{
    JobStatus::kPending,    JobStatus::kStarting,   JobStatus::kRunning,
    JobStatus::kRegrouping, JobStatus::kPreempting, JobStatus::kSuspended,
    JobStatus::kCompleted,  JobStatus::kFailed,     JobStatus::kCancelled};
constexpr std::array kNodeStatuses{NodeStatus::kReady,       NodeStatus::kSlow,
                                   NodeStatus::kUnreachable, NodeStatus::kLost,
                                   NodeStatus::kCordoned,    NodeStatus::kDraining,
                                   NodeStatus::kQuarantined};

template <class E, size_t kCount>
void set_by_status(MetricRegistry& registry, const std::string& name, const std::string& help,
                   const std::array<E, kCount>& statuses, const std::map<E, double>& counts) {
  for (const E status : statuses) {
    const auto found = counts.find(status);
    registry.gauge(name, help, "status=\"" + to_text(status) + "\"")
        .set(found == counts.end() ? 0 : found->second);
  }
}

}  // namespace

ServerProbe::ServerProbe()
    : submits(registry_.counter("keiko_submits_total", "Jobs accepted")),
      commands(registry_.counter("keiko_commands_total", "Commands of clients carried out")),
      refused_commands(registry_.counter("keiko_commands_refused_total",
                                         "Commands turned away since the queue or disk was full")),
      reports(registry_.counter("keiko_agent_messages_total", "Messages of agents carried out")),
      records(registry_.counter("keiko_journal_records_total", "Records appended to the journal")),
      append_failures(
          registry_.counter("keiko_journal_append_failures_total", "Appends that failed")),
      snapshots(registry_.counter("keiko_journal_snapshots_total", "Snapshots stored")),
      cut_readers(registry_.counter("keiko_streams_cut_total",
                                    "Streams ended since their client did not read")),
      history_rows(registry_.counter("keiko_history_spans_total",
                                     "Spans of 10 s of a node's metrics that were kept")),
      history_dropped(
          registry_.counter("keiko_history_spans_dropped_total",
                            "Spans of metrics that found no room to wait for the disk")),
      history_failures(registry_.counter("keiko_history_write_failures_total",
                                         "Writes of metrics that failed and are tried again")),
      history_writable(registry_.gauge(
          "keiko_history_writable", "0 while no history is kept, or its disk takes nothing")),
      history_bytes(registry_.gauge("keiko_history_bytes", "What the history of metrics takes")),
      journal_writable(
          registry_.gauge("keiko_journal_writable", "0 while the journal's disk is full")),
      agents(registry_.gauge("keiko_agents_connected", "Open agent streams")),
      append_seconds(registry_.histogram("keiko_journal_append_seconds",
                                         "Time of one durable append", kSeconds)),
      pass_seconds(registry_.histogram("keiko_scheduling_pass_seconds",
                                       "Time of one turn for deadlines and the scheduler",
                                       kSeconds)),
      batch_events(registry_.histogram("keiko_loop_batch_events", "Events carried out per append",
                                       {1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10000})) {
  journal_writable.set(1);
}

void ServerProbe::read(const cluster::ClusterBrain& brain, Time now, size_t inbox_size) {
  const State& state = brain.state();
  std::map<JobStatus, double> jobs;
  for (const auto& [id, job] : state.jobs) ++jobs[job.status];
  std::map<NodeStatus, double> nodes;
  double devices = 0;
  double taken = 0;
  for (const auto& [id, node] : state.nodes) {
    if (node.forgotten) continue;
    ++nodes[brain.status_of(id, now)];
    if (node.lost) continue;
    devices += static_cast<double>(node.spec.devices.size());
    for (const bool device_taken : node.device_taken) taken += device_taken ? 1 : 0;
  }
  set_by_status(registry_, "keiko_jobs", "Jobs by status", kJobStatuses, jobs);
  set_by_status(registry_, "keiko_nodes", "Nodes by status", kNodeStatuses, nodes);
  registry_.gauge("keiko_devices", "Devices of nodes that are not lost").set(devices);
  registry_.gauge("keiko_devices_free", "Devices that no worker has").set(devices - taken);
  registry_.gauge("keiko_queue_depth", "Jobs that wait")
      .set(static_cast<double>(state.pending.size()));
  registry_.gauge("keiko_loop_waiting", "Events that wait for the server's loop")
      .set(static_cast<double>(inbox_size));
}

}  // namespace keiko::server
