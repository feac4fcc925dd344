// The texts of the model's enumerations, and keys.
#include "model/check.h"
#include "model/device.h"
#include "model/host.h"
#include "model/job.h"
#include "model/messages.h"
#include "model/node.h"
#include "model/verdict.h"
#include "model/worker.h"

namespace keiko {

std::string to_text(LinkKind kind) {
  switch (kind) {
    case LinkKind::kSystem: return "system";
    case LinkKind::kNuma: return "numa";
    case LinkKind::kPcie: return "pcie";
    case LinkKind::kNvlink: return "nvlink";
    case LinkKind::kXgmi: return "xgmi";
    case LinkKind::kShared: return "shared";
  }
  return "unknown";
}

std::string to_text(NicKind kind) {
  switch (kind) {
    case NicKind::kEthernet: return "ethernet";
    case NicKind::kInfiniband: return "infiniband";
    case NicKind::kRoce: return "roce";
    case NicKind::kRdma: return "rdma";
  }
  return "unknown";
}

std::string to_text(NodeStatus status) {
  switch (status) {
    case NodeStatus::kReady: return "READY";
    case NodeStatus::kSlow: return "SLOW";
    case NodeStatus::kUnreachable: return "UNREACHABLE";
    case NodeStatus::kLost: return "LOST";
    case NodeStatus::kCordoned: return "CORDONED";
    case NodeStatus::kDraining: return "DRAINING";
    case NodeStatus::kQuarantined: return "QUARANTINED";
  }
  return "UNKNOWN";
}

std::string to_text(JobKind kind) { return kind == JobKind::kTrain ? "train" : "batch"; }

std::string to_text(JobStatus status) {
  switch (status) {
    case JobStatus::kPending: return "PENDING";
    case JobStatus::kStarting: return "STARTING";
    case JobStatus::kRunning: return "RUNNING";
    case JobStatus::kRegrouping: return "REGROUPING";
    case JobStatus::kPreempting: return "PREEMPTING";
    case JobStatus::kSuspended: return "SUSPENDED";
    case JobStatus::kCompleted: return "COMPLETED";
    case JobStatus::kFailed: return "FAILED";
    case JobStatus::kCancelled: return "CANCELLED";
  }
  return "UNKNOWN";
}

bool is_final(JobStatus status) {
  return status == JobStatus::kCompleted || status == JobStatus::kFailed ||
         status == JobStatus::kCancelled;
}

std::string to_text(Reason reason) {
  switch (reason) {
    case Reason::kNone: return "";
    case Reason::kWaitingForResources: return "WaitingForResources";
    case Reason::kBehindOthers: return "BehindOthers";
    case Reason::kHeld: return "Held";
    case Reason::kBackingOff: return "BackingOff";
    case Reason::kWorkerFailed: return "WorkerFailed";
    case Reason::kNodeLost: return "NodeLost";
    case Reason::kWorkerKilled: return "WorkerKilled";
    case Reason::kOutOfMemory: return "OutOfMemory";
    case Reason::kRestartsExhausted: return "RestartsExhausted";
    case Reason::kCancelledByUser: return "CancelledByUser";
    case Reason::kNodeDrained: return "NodeDrained";
    case Reason::kTimeLimit: return "TimeLimit";
    case Reason::kRequeuedByUser: return "RequeuedByUser";
    case Reason::kStartFailed: return "StartFailed";
    case Reason::kNoNodes: return "NoNodes";
  }
  return "Unknown";
}

std::string to_text(Fit fit) {
  switch (fit) {
    case Fit::kFits: return "fits";
    case Fit::kNotNow: return "not_now";
    case Fit::kNever: return "never";
  }
  return "unknown";
}

std::string to_text(Cure cure) {
  switch (cure) {
    case Cure::kDevicesFreed: return "devices_freed";
    case Cure::kNodeJoined: return "node_joined";
    case Cure::kNodeReturned: return "node_returned";
    case Cure::kRelease: return "release";
    case Cure::kTimePasses: return "time_passes";
    case Cure::kSmallerAsk: return "smaller_ask";
    case Cure::kQuarantineEnded: return "quarantine_ended";
  }
  return "unknown";
}

std::string to_text(WorkerStatus status) {
  switch (status) {
    case WorkerStatus::kStarting: return "starting";
    case WorkerStatus::kRunning: return "running";
    case WorkerStatus::kStopping: return "stopping";
    case WorkerStatus::kEnded: return "ended";
  }
  return "unknown";
}

std::string to_text(EndCause cause) {
  switch (cause) {
    case EndCause::kNone: return "none";
    case EndCause::kExited: return "exited";
    case EndCause::kSignalled: return "signalled";
    case EndCause::kStopped: return "stopped";
    case EndCause::kStartFailed: return "start_failed";
    case EndCause::kOutOfMemory: return "out_of_memory";
    case EndCause::kLeaseEnded: return "lease_ended";
    case EndCause::kVanished: return "vanished";
    case EndCause::kNodeFailed: return "node_failed";
    case EndCause::kNodeLeft: return "node_left";
    case EndCause::kNotWell: return "not_well";
  }
  return "unknown";
}

std::string to_text(HealthAction action) {
  switch (action) {
    case HealthAction::kClear: return "clear";
    case HealthAction::kCheck: return "check";
  }
  return "unknown";
}

std::string to_text(CheckKind kind) {
  switch (kind) {
    case CheckKind::kPreflight: return "preflight";
    case CheckKind::kPeriodic: return "periodic";
    case CheckKind::kAfterFailure: return "after_failure";
    case CheckKind::kRetest: return "retest";
    case CheckKind::kReset: return "reset";
  }
  return "unknown";
}

std::string to_text(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kOk: return "ok";
    case CheckVerdict::kWarn: return "warn";
    case CheckVerdict::kCrit: return "crit";
    case CheckVerdict::kUnknown: return "unknown";
    case CheckVerdict::kNotCovered: return "not_covered";
  }
  return "unknown";
}

std::string to_text(const WorkerKey& key) {
  return to_text(key.job) + "." + std::to_string(key.attempt) + "." + std::to_string(key.rank);
}

Result<WorkerKey> parse_worker_key(std::string_view text) {
  const std::vector<std::string> parts = split(text, '.');
  uint64_t attempt = 0;
  uint64_t rank = 0;
  if (parts.size() != 3 || !parse_digits(parts[1], attempt) || !parse_digits(parts[2], rank) ||
      attempt > INT32_MAX || rank > INT32_MAX) {
    return invalid_argument("'" + std::string(text) +
                            "' is not a worker; workers look like j7.1.0");
  }
  const JobId job = TRY(parse_job_id(parts[0]));
  return WorkerKey{job, static_cast<int32_t>(attempt), static_cast<int32_t>(rank)};
}

std::string to_text(const ServerBody& body) {
  struct Visitor {
    std::string operator()(const Welcome& m) const { return "welcome " + to_text(m.node); }
    std::string operator()(const Refused& m) const { return "refused " + quote_text(m.why); }
    std::string operator()(const ReportAck& m) const {
      return "report_ack " + std::to_string(m.report_sequence);
    }
    std::string operator()(const StartWorker& m) const {
      return "start_worker " + to_text(m.launch.key);
    }
    std::string operator()(const StopWorker& m) const {
      return "stop_worker " + to_text(m.key) + " " + quote_text(m.why);
    }
    std::string operator()(const ForgetWorker& m) const {
      return "forget_worker " + to_text(m.key);
    }
    std::string operator()(const HealthOrder& m) const {
      return "health_order " + to_text(m.action) + " " + to_text(m.subject);
    }
  };
  return std::visit(Visitor{}, body);
}

}  // namespace keiko
