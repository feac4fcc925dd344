// What goes over the wire comes back equal, and what does not fit is refused by name.
#include "wire/convert.h"

#include <gtest/gtest.h>

#include <cmath>

#include <limits>

#include "base/prng.h"
#include "base/utf8.h"
#include "wire/random_model.h"

namespace keiko {
namespace {

/// Through bytes as on a real wire.
template <class Proto>
Proto over_the_wire(const Proto& message) {
  Proto out;
  EXPECT_TRUE(out.ParseFromString(message.SerializeAsString()));
  return out;
}

TEST(Convert, job_specs_come_back_equal) {
  Prng prng(1);
  for (int i = 0; i < 500; ++i) {
    JobSpec spec = random_value<JobSpec>(prng);
    spec.queue += 'q';  // an empty queue means the default one
    EXPECT_EQ(MUST(from_proto(over_the_wire(to_proto(spec)))), spec);
  }
}

TEST(Convert, an_absent_field_takes_the_models_default_and_an_explicit_zero_stays) {
  JobSpec fresh;
  fresh.restarts = 0;  // of a batch job; recorded as a number
  EXPECT_EQ(MUST(from_proto(v1::JobSpec())), fresh);
  v1::JobSpec zero;
  zero.set_restarts(0);
  zero.set_cpu_milli(0);
  zero.mutable_grace();
  const JobSpec spec = MUST(from_proto(zero));
  EXPECT_EQ(spec.restarts, 0);
  EXPECT_EQ(spec.cpu_milli, 0);
  EXPECT_EQ(spec.grace, Duration{});
}

TEST(Convert, restarts_left_out_follow_the_kind) {
  v1::JobSpec train;
  train.set_kind("train");
  EXPECT_EQ(MUST(from_proto(train)).restarts, 3);
  train.set_restarts(0);
  EXPECT_EQ(MUST(from_proto(train)).restarts, 0);
  train.set_restarts(kByKind);
  EXPECT_EQ(from_proto(train).error().where, "restarts") << "the mark is not for the wire";
}

TEST(Convert, node_specs_come_back_equal) {
  Prng prng(2);
  for (int i = 0; i < 300; ++i) {
    const NodeSpec spec = random_value<NodeSpec>(prng);
    EXPECT_EQ(MUST(from_proto(over_the_wire(to_proto(spec)))), spec);
  }
}

TEST(Convert, launches_and_leases_come_back_equal) {
  Prng prng(3);
  for (int i = 0; i < 300; ++i) {
    const WorkerLaunch launch = random_value<WorkerLaunch>(prng);
    EXPECT_EQ(MUST(from_proto(over_the_wire(to_proto(launch)))), launch);
    const LeaseOptions lease = random_value<LeaseOptions>(prng);
    EXPECT_EQ(MUST(from_proto(over_the_wire(to_proto(lease)))), lease);
  }
}

WorkerReport random_report(Prng& prng) {
  WorkerReport report;
  report.key = random_value<WorkerKey>(prng);
  report.status = static_cast<WorkerStatus>(prng.below(4));
  report.pid = prng.between(0, 1 << 22);
  report.master_port = static_cast<int32_t>(prng.below(65536));
  if (prng.chance(1, 2)) report.checkpoint = random_value<CheckpointMark>(prng);
  if (prng.chance(1, 2)) report.end = random_value<WorkerEnd>(prng);
  report.end.cause = static_cast<EndCause>(prng.below(8));
  if (prng.chance(1, 2)) report.progress = Progress{7, 9, 1.25, 3, 4, 1e6};
  return report;
}

void expect_equal(const WorkerReport& a, const WorkerReport& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.pid, b.pid);
  EXPECT_EQ(a.master_port, b.master_port);
  EXPECT_EQ(a.checkpoint, b.checkpoint);
  EXPECT_EQ(a.end, b.end);
  ASSERT_EQ(a.progress.has_value(), b.progress.has_value());
  if (!a.progress) return;
  EXPECT_EQ(a.progress->loss, b.progress->loss);
  EXPECT_EQ(a.progress->total_steps, b.progress->total_steps);
}

TEST(Convert, hellos_and_reports_come_back_equal) {
  Prng prng(4);
  for (int i = 0; i < 300; ++i) {
    AgentHello hello{random_value<NodeSpec>(prng), {random_report(prng), random_report(prng)}};
    const AgentHello hello_back = MUST(from_proto(over_the_wire(to_proto(hello))));
    EXPECT_EQ(hello_back.node, hello.node);
    ASSERT_EQ(hello_back.workers.size(), 2u);
    expect_equal(hello_back.workers[1], hello.workers[1]);

    AgentReport report{{prng.next(), prng.next()}, prng.next(), {random_report(prng)}};
    const AgentReport report_back = MUST(from_proto(over_the_wire(to_proto(report))));
    EXPECT_EQ(report_back.session, report.session);
    EXPECT_EQ(report_back.sequence, report.sequence);
    expect_equal(report_back.workers.at(0), report.workers[0]);
  }
}

TEST(Convert, health_comes_back_equal) {
  SubjectHealth gpu;
  gpu.subject = {"", HealthSubjectKind::kDevice, "GPU-1"};
  gpu.level = "unhealthy";
  gpu.quarantined = true;
  gpu.cause = "xid_79";
  gpu.evidence = "NVRM: Xid";
  gpu.owner = "operator";
  gpu.ends_by = "reboot or operator";
  gpu.since = Time{1'700'000'000'123'456'789};
  gpu.incident = 3;
  gpu.lemon_millionths = 1'500'000;
  gpu.sentence = "unhealthy since ...";
  IncidentRecord incident;
  incident.id = 3;
  incident.subject = gpu.subject;
  incident.cause = "xid_79";
  incident.remedy = "reboot_node";
  incident.opened_at = Time{1'700'000'000'000'000'001};
  incident.story = "it fell off the bus";
  incident.steps = {{Time{5}, "quarantined"}, {Time{6}, "asked for a reboot"}};
  IncidentRecord ended = incident;
  ended.recovered_at = Time{1'700'000'001'000'000'000};
  ended.ended_by = "reboot";
  const HealthReport report{{gpu, SubjectHealth{}}, true, {incident, ended}};
  EXPECT_EQ(MUST(from_proto(over_the_wire(to_proto(report)))), report);
}

TEST(Convert, readings_that_the_contract_knows_are_sent_and_what_is_no_number_is_not) {
  const double nan = std::nan("");
  const v1::ReadingReport report = to_proto(std::vector<Reading>{
      {{SubjectKind::kNode, ""}, {{"cpu_utilisation_ratio", 0.5}, {"load_1m", nan}}},
      {{SubjectKind::kDevice, "GPU-1"}, {{"power_watts", 300.5}, {"memory_used_bytes", 7e10},
                                         {"temperature_celsius", 9.3e18}, {"nvlinks", 18}}},
      {{SubjectKind::kNic, "eth0"}, {{"up", 1}}}});
  EXPECT_EQ(report.node().cpu_utilisation_ratio(), 0.5);
  EXPECT_FALSE(report.node().has_load_1m());
  ASSERT_EQ(report.devices().size(), 1u);
  const v1::DeviceReading& gpu = report.devices().at("GPU-1");
  EXPECT_EQ(gpu.power_watts(), 300.5);
  EXPECT_EQ(gpu.memory_used_bytes(), 70'000'000'000);
  EXPECT_FALSE(gpu.has_temperature_celsius());
}

TEST(Convert, readings_of_an_agent_that_lies_are_cleaned) {
  v1::ReadingReport report;
  report.mutable_node()->set_load_1m(std::nan(""));
  report.mutable_node()->set_cpu_utilisation_ratio(0.5);
  v1::DeviceReading& gpu = (*report.mutable_devices())["GPU-1"];
  gpu.set_power_watts(-1);
  gpu.set_memory_used_bytes(-5);
  gpu.set_utilisation_ratio(0);
  clean(report);
  EXPECT_FALSE(report.node().has_load_1m());
  EXPECT_TRUE(report.node().has_cpu_utilisation_ratio());
  EXPECT_FALSE(gpu.has_power_watts());
  EXPECT_FALSE(gpu.has_memory_used_bytes());
  EXPECT_TRUE(gpu.has_utilisation_ratio()) << "0 is a number";
}

ServerMessage round_trip(ServerBody body) {
  ServerMessage message{{3, 4}, 5, std::move(body)};
  ServerMessage back = MUST(from_proto(over_the_wire(to_proto(message))));
  EXPECT_EQ(back.session, message.session);
  EXPECT_EQ(back.sequence, 5u);
  EXPECT_EQ(to_text(back.body), to_text(message.body));
  return back;
}

TEST(Convert, every_server_message_comes_back) {
  Prng prng(5);
  const LeaseOptions lease = random_value<LeaseOptions>(prng);
  const ServerMessage welcome = round_trip(Welcome{NodeId{7}, lease});
  EXPECT_EQ(std::get<Welcome>(welcome.body).lease, lease);
  round_trip(Refused{"another agent has this name"});
  round_trip(ReportAck{77});
  const WorkerLaunch launch = random_value<WorkerLaunch>(prng);
  EXPECT_EQ(std::get<StartWorker>(round_trip(StartWorker{launch}).body).launch, launch);
  const StopWorker stop{launch.key, milliseconds(1500), "preempted"};
  EXPECT_EQ(std::get<StopWorker>(round_trip(stop).body).grace, stop.grace);
  round_trip(ForgetWorker{launch.key});
}

TEST(Convert, a_message_without_a_body_is_refused) {
  EXPECT_EQ(from_proto(v1::ServerMessage()).error().code, Code::kInvalidArgument);
}

TEST(Convert, log_reads_and_chunks_come_back_equal) {
  const LogRead read{4, {JobId{2}, 1, 3}, LogStream::kErr, -100, 4096, true};
  const LogRead back = MUST(from_proto(over_the_wire(to_proto(read))));
  EXPECT_EQ(back.key, read.key);
  EXPECT_EQ(back.stream, read.stream);
  EXPECT_EQ(back.offset, -100);
  EXPECT_TRUE(back.follow);
  const LogChunk chunk =
      from_proto(over_the_wire(to_proto(LogChunk{4, 9, "\xff\0x", true, true, ""})));
  EXPECT_EQ(chunk.data, "\xff\0x");
  EXPECT_TRUE(chunk.eof && chunk.ended);
}

TEST(Convert, unknown_words_name_the_field_and_the_nearest_word) {
  v1::JobSpec spec;
  spec.set_kind("trian");
  const Result<JobSpec> read = from_proto(spec);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kInvalidArgument);
  EXPECT_EQ(read.error().where, "kind");
  EXPECT_NE(read.error().message.find("did you mean train?"), std::string::npos);
}

TEST(Convert, durations_beyond_64_bits_of_nanoseconds_are_refused_by_field) {
  for (const int64_t seconds : {std::numeric_limits<int64_t>::max(), int64_t{-315'576'000'000}}) {
    v1::JobSpec spec;
    spec.mutable_time_limit()->set_seconds(seconds);
    const Result<JobSpec> read = from_proto(spec);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().where, "time_limit");
  }
}

TEST(Convert, times_before_and_after_1970_come_back_equal) {
  for (const int64_t ns : {int64_t{0}, int64_t{-1}, int64_t{1}, int64_t{1'796'000'000'123'456'789},
                           int64_t{-1'500'000'000}}) {
    google::protobuf::Timestamp stamp;
    set_proto(stamp, Time{ns});
    EXPECT_GE(stamp.nanos(), 0);
    EXPECT_EQ(from_proto(stamp), Time{ns});
  }
}

TEST(Convert, last_words_of_any_bytes_do_not_break_the_stream) {
  WorkerReport report;
  report.end = {EndCause::kExited, 1, 0, "caf\xe9 \xff", {}, {}, {}};
  const WorkerReport back = MUST(from_proto(over_the_wire(to_proto(report))));
  EXPECT_EQ(back.end.last_words, "caf\xEF\xBF\xBD \xEF\xBF\xBD");
}

TEST(Utf8, keeps_what_is_valid_and_replaces_what_is_not) {
  EXPECT_EQ(clean_utf8("稽古 ok"), "稽古 ok");
  EXPECT_EQ(clean_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");            // overlong '/'
  EXPECT_EQ(valid_utf8_prefix("\xED\xA0\x80"), 0u);                         // a surrogate
  EXPECT_EQ(valid_utf8_prefix("\xF4\x90\x80\x80"), 0u);                     // beyond U+10FFFF
  EXPECT_EQ(valid_utf8_prefix("ab\xE7\xA8"), 2u);                           // cut in a character
  EXPECT_EQ(valid_utf8_prefix(std::string("a\0b", 3)), 3u);
}

}  // namespace
}  // namespace keiko
