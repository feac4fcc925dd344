// The health brain's state as a report: words instead of enumerations, and only what matters now.
#include <algorithm>

#include "agent/health/health_watch.h"
#include "core/health/lemon.h"
#include "core/health/story.h"

namespace keiko::agent {
namespace {

HealthSubject nameless(HealthSubject subject) {
  subject.node.clear();
  return subject;
}

SubjectHealth told(const health::HealthView& view) {
  SubjectHealth health;
  health.subject = nameless(view.subject);
  health.level = to_text(view.level);
  health.quarantined = view.quarantined;
  health.on_probation = view.on_probation;
  health.cause = view.cause;
  health.evidence = view.evidence;
  health.since = view.since;
  health.incident = view.incident;
  health.sentence = view.sentence;
  if (view.level != health::HealthLevel::kHealthy) {
    health.owner = to_text(view.owner);
    health.ends_by = health::exits_text(view.exits);
  }
  // In hundredths: it decays all the time, and a report goes out only if it differs.
  health.lemon_millionths = view.lemon_millionths / 10'000 * 10'000;
  return health;
}

/// A lemon is told of after it has recovered: the scheduler prefers others, an operator looks into
/// it. One incident fades below this within 4.3 half-lives.
constexpr int64_t kLeastLemon = health::kOneIncident / 20;

bool matters(const health::HealthView& view) {
  return view.level != health::HealthLevel::kHealthy || view.on_probation || view.quarantined ||
         view.lemon_millionths >= kLeastLemon;
}

IncidentRecord told(const health::Incident& incident) {
  IncidentRecord record;
  record.id = incident.id;
  record.subject = nameless(incident.subject);
  record.cause = incident.cause;
  record.remedy = to_text(incident.remedy);
  record.opened_at = incident.opened_at;
  record.recovered_at = incident.recovered_at;
  record.ended_by = incident.ended_by;
  record.story = health::story(incident);
  for (const health::IncidentEntry& entry : incident.entries) {
    record.steps.push_back({entry.at, entry.text});
  }
  return record;
}

/// The open ones, and of the rest the newest.
std::vector<IncidentRecord> incidents_of(const health::HealthState& state) {
  std::vector<const health::Incident*> all;
  for (const health::Incident& incident : state.closed) all.push_back(&incident);
  for (const auto& [id, incident] : state.open) all.push_back(&incident);
  // Stories are made of those alone that are told: this is done every second.
  if (all.size() > kMaxReportedIncidents) {
    all.erase(all.begin(), all.end() - static_cast<ptrdiff_t>(kMaxReportedIncidents));
  }
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  std::vector<IncidentRecord> records;
  for (const health::Incident* incident : all) records.push_back(told(*incident));
  return records;
}

}  // namespace

HealthReport health_report_of(const health::HealthState& state, const std::string& node,
                              const std::set<std::string>& uuids) {
  HealthReport report;
  for (const std::string& uuid : uuids) {
    const auto view = health::view_of(state, {node, HealthSubjectKind::kDevice, uuid});
    if (!matters(view)) continue;
    SubjectHealth health = told(view);
    health.subject.name = uuid;  // a slice is told as itself, whatever its device is called
    report.subjects.push_back(std::move(health));
  }
  for (const health::HealthView& view : health::lemons(state)) {
    if (view.subject.kind == HealthSubjectKind::kDevice && uuids.contains(view.subject.name)) {
      continue;
    }
    if (view.subject.node == node && matters(view)) report.subjects.push_back(told(view));
  }
  std::sort(report.subjects.begin(), report.subjects.end(),
            [](const SubjectHealth& a, const SubjectHealth& b) { return a.subject < b.subject; });
  report.incidents = incidents_of(state);
  return report;
}

}  // namespace keiko::agent
