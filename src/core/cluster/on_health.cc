// What an agent says of its node's health. The agent judges, the brain obeys: what is quarantined
// takes no new work, and a node that asks for it is drained. Not durable: an agent tells it again
// in every session.
#include <algorithm>
#include <map>

#include "core/cluster/brain_steps.h"

namespace keiko::cluster {
namespace {

using Subjects = std::map<HealthSubject, const SubjectHealth*>;

Subjects by_subject(const HealthReport& report) {
  Subjects subjects;
  for (const SubjectHealth& health : report.subjects) subjects[health.subject] = &health;
  return subjects;
}

std::string name_of(const HealthSubject& subject) {
  return to_text(subject.kind) + (subject.name.empty() ? "" : "=" + subject.name);
}

bool is_quarantined(const Subjects& subjects, const HealthSubject& subject) {
  const auto found = subjects.find(subject);
  return found != subjects.end() && found->second->quarantined;
}

std::string why_drained(const HealthReport& report) {
  for (const SubjectHealth& health : report.subjects) {
    if (health.quarantined && health.subject.kind == HealthSubjectKind::kNode) {
      return health.sentence;
    }
  }
  return "its agent asks for it";
}

}  // namespace

void BrainSteps::on(const HealthReceived& event) {
  const auto found = brain_.node_by_connection_.find(event.connection);
  if (found == brain_.node_by_connection_.end()) return;
  const NodeId node = found->second;
  HealthReport& known = brain_.sights_[node].health;
  const HealthReport before = std::exchange(known, event.report);
  const Subjects now = by_subject(known);
  const Subjects then = by_subject(before);
  const std::string name = brain_.state_.nodes.at(node).spec.name;
  for (const auto& [subject, health] : now) {
    if (!health->quarantined || is_quarantined(then, subject)) continue;
    note("quarantined", "name=" + name + " " + name_of(subject) + " cause=" + health->cause +
                            " why=" + quote_text(health->sentence), {}, node);
    brain_.schedule_wanted_ = true;
  }
  for (const auto& [subject, health] : then) {
    if (!health->quarantined || is_quarantined(now, subject)) continue;
    note("released", "name=" + name + " " + name_of(subject), {}, node);
    brain_.schedule_wanted_ = true;
  }
  if (known.drain && !before.drain) drain(node, why_drained(known));
}

}  // namespace keiko::cluster
