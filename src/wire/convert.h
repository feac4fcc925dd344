// The model's nouns to the contract's messages and back.
//
// to_proto cannot fail. from_proto checks what the model's types cannot hold (words, ranges of
// durations) and gives kInvalidArgument with the field; whether the values make sense is
// validate()'s business. A value that went there and back is equal. Pure functions.
#pragma once

#include "base/result.h"
#include "keiko/v1/agent.pb.h"
#include "keiko/v1/job.pb.h"
#include "keiko/v1/node.pb.h"
#include "model/job.h"
#include "model/logs/log_shipping.h"
#include "model/messages.h"
#include "model/node.h"
#include "model/node_health.h"
#include "model/reading.h"
#include "model/verdict.h"
#include "model/worker.h"
#include "wire/logs/log_messages.h"

namespace keiko {

// ---- time: an absent timestamp is Time{}, an absent duration is Duration{} ----

void set_proto(google::protobuf::Duration& out, Duration duration);
void set_proto(google::protobuf::Timestamp& out, Time time);
/// RETURNS: kInvalidArgument naming `field` for a span that 64 bits of nanoseconds cannot hold.
Result<Duration> from_proto(const google::protobuf::Duration& in, const std::string& field);
Time from_proto(const google::protobuf::Timestamp& in);

// ---- jobs and workers ----

v1::Mount to_proto(const Mount& mount);
Mount from_proto(const v1::Mount& in);

v1::JobSpec to_proto(const JobSpec& spec);
Result<JobSpec> from_proto(const v1::JobSpec& in);

v1::Checkpoint to_proto(const CheckpointMark& mark);
CheckpointMark from_proto(const v1::Checkpoint& in);

v1::Progress to_proto(const Progress& progress);
Progress from_proto(const v1::Progress& in);

v1::WorkerEnd to_proto(const WorkerEnd& end);
Result<WorkerEnd> from_proto(const v1::WorkerEnd& in);

v1::WorkerKey to_proto(const WorkerKey& key);
WorkerKey from_proto(const v1::WorkerKey& in);

v1::WorkerReport to_proto(const WorkerReport& report);
Result<WorkerReport> from_proto(const v1::WorkerReport& in);

v1::WorkerLaunch to_proto(const WorkerLaunch& launch);
Result<WorkerLaunch> from_proto(const v1::WorkerLaunch& in);

v1::Verdict to_proto(const Verdict& verdict);

// ---- nodes ----

v1::Device to_proto(const Device& device);
Device from_proto(const v1::Device& in);

v1::Link to_proto(const Link& link);
Result<Link> from_proto(const v1::Link& in);

v1::Isolation to_proto(const Isolation& isolation);
Isolation from_proto(const v1::Isolation& in);

v1::Host to_proto(const HostSpec& host);
Result<HostSpec> from_proto(const v1::Host& in);

v1::NodeSpec to_proto(const NodeSpec& spec);
Result<NodeSpec> from_proto(const v1::NodeSpec& in);

// ---- the agent's stream ----

v1::LeaseOptions to_proto(const LeaseOptions& options);
Result<LeaseOptions> from_proto(const v1::LeaseOptions& in);

v1::AgentHello to_proto(const AgentHello& hello);
Result<AgentHello> from_proto(const v1::AgentHello& in);

v1::AgentReport to_proto(const AgentReport& report);
Result<AgentReport> from_proto(const v1::AgentReport& in);

v1::SubjectHealth to_proto(const SubjectHealth& health);
v1::Incident to_proto(const IncidentRecord& record);
/// Those readings that the contract has a field for; what is not finite is left out.
v1::ReadingReport to_proto(const std::vector<Reading>& readings);
/// All that is finite in a report. Masks of bits are left out: they are no quantities.
std::vector<Reading> quantities(const v1::ReadingReport& report);
/// Takes out what no machine can tell (not finite, negative), as an agent may be anybody's.
void clean(v1::ReadingReport& report);

v1::HealthReport to_proto(const HealthReport& report);
Result<HealthReport> from_proto(const v1::HealthReport& in);

v1::ServerMessage to_proto(const ServerMessage& message);
/// REQUIRES: the body is one of the brain's, not log_read or log_cancel.
Result<ServerMessage> from_proto(const v1::ServerMessage& in);

v1::LogChunk to_proto(const LogChunk& chunk);
LogChunk from_proto(v1::LogChunk in);

v1::LogRead to_proto(const LogRead& read);
Result<LogRead> from_proto(const v1::LogRead& in);

v1::LogShipment to_proto(LogShipment shipment);
Result<LogShipment> from_proto(v1::LogShipment in);

v1::LogReceipt to_proto(const LogReceipt& receipt);
Result<LogReceipt> from_proto(const v1::LogReceipt& in);

}  // namespace keiko
