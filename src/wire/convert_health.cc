// A node's health, as its agent tells it.
#include "wire/convert.h"
#include "wire/words.h"

namespace keiko {
namespace {

void set_time(google::protobuf::Timestamp* out, Time time) { set_proto(*out, time); }

Result<HealthSubject> subject_from(const std::string& kind, const std::string& name) {
  HealthSubject subject;
  subject.kind = TRY(parse_word(kind, kHealthSubjectKinds, "health.kind"));
  subject.name = name;
  return subject;
}

Result<SubjectHealth> from_proto(const v1::SubjectHealth& in) {
  SubjectHealth health;
  health.subject = TRY(subject_from(in.kind(), in.name()));
  health.level = in.level();
  health.quarantined = in.quarantined();
  health.on_probation = in.on_probation();
  health.cause = in.cause();
  health.evidence = in.evidence();
  health.owner = in.owner();
  health.ends_by = in.ends_by();
  health.since = keiko::from_proto(in.since());
  health.incident = in.incident();
  health.lemon_millionths = in.lemon_millionths();
  health.sentence = in.sentence();
  return health;
}

Result<IncidentRecord> from_proto(const v1::Incident& in) {
  IncidentRecord record;
  record.id = in.id();
  record.subject = TRY(subject_from(in.kind(), in.name()));
  record.cause = in.cause();
  record.remedy = in.remedy();
  record.opened_at = keiko::from_proto(in.opened_at());
  if (in.has_recovered_at()) record.recovered_at = keiko::from_proto(in.recovered_at());
  record.ended_by = in.ended_by();
  record.story = in.story();
  for (const v1::IncidentStep& step : in.steps()) {
    record.steps.push_back({keiko::from_proto(step.at()), step.text()});
  }
  return record;
}

}  // namespace

v1::SubjectHealth to_proto(const SubjectHealth& health) {
  v1::SubjectHealth out;
  out.set_kind(to_text(health.subject.kind));
  out.set_name(health.subject.name);
  out.set_level(health.level);
  out.set_quarantined(health.quarantined);
  out.set_on_probation(health.on_probation);
  out.set_cause(health.cause);
  out.set_evidence(health.evidence);
  out.set_owner(health.owner);
  out.set_ends_by(health.ends_by);
  set_time(out.mutable_since(), health.since);
  out.set_incident(health.incident);
  out.set_lemon_millionths(health.lemon_millionths);
  out.set_sentence(health.sentence);
  return out;
}

v1::Incident to_proto(const IncidentRecord& record) {
  v1::Incident out;
  out.set_id(record.id);
  out.set_kind(to_text(record.subject.kind));
  out.set_name(record.subject.name);
  out.set_cause(record.cause);
  out.set_remedy(record.remedy);
  set_time(out.mutable_opened_at(), record.opened_at);
  if (record.recovered_at.ns != 0) set_time(out.mutable_recovered_at(), record.recovered_at);
  out.set_ended_by(record.ended_by);
  out.set_story(record.story);
  for (const IncidentStep& step : record.steps) {
    v1::IncidentStep& added = *out.add_steps();
    set_time(added.mutable_at(), step.at);
    added.set_text(step.text);
  }
  return out;
}

v1::HealthReport to_proto(const HealthReport& report) {
  v1::HealthReport out;
  for (const SubjectHealth& subject : report.subjects) *out.add_subjects() = to_proto(subject);
  out.set_drain(report.drain);
  for (const IncidentRecord& record : report.incidents) *out.add_incidents() = to_proto(record);
  return out;
}

Result<HealthReport> from_proto(const v1::HealthReport& in) {
  HealthReport report;
  report.drain = in.drain();
  for (const v1::SubjectHealth& subject : in.subjects()) {
    report.subjects.push_back(TRY(from_proto(subject)));
  }
  for (const v1::Incident& incident : in.incidents()) {
    report.incidents.push_back(TRY(from_proto(incident)));
  }
  return report;
}

}  // namespace keiko
