// What an agent says of its node's health. The agent judges, the brain obeys: what is quarantined
// takes no new work, and a node that asks for it is drained. Not durable: an agent tells it again
// in every session.
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

/// RETURNS: the device that an operator means, by UUID or index. It need not be there: what was
/// lost has its health all the same.
Result<HealthSubject> find_subject(const NodeState& node, const HealthReport& health,
                                   const std::string& device) {
  if (device.empty()) return HealthSubject{};
  HealthSubject subject{{}, HealthSubjectKind::kDevice, device};
  for (const Device& one : node.spec.devices) {
    const bool meant = one.uuid == device || std::to_string(one.index) == device;
    if (!meant) continue;
    subject.name = one.uuid;
    return subject;
  }
  if (by_subject(health).contains(subject)) return subject;
  return not_found(node.spec.name + " has no device " + quote_text(device) +
                   "; `keiko node " + node.spec.name + "` lists them");
}

}  // namespace

/// The agent judges, so the agent is told; what came of it is seen in its next report.
void BrainSteps::act_on_health(uint64_t request, const NodeState& node, const ActOnNode& act) {
  const NodeSight& sight = brain_.sights_[node.id];
  const std::string& name = node.spec.name;
  Result<HealthSubject> subject = find_subject(node, sight.health, act.device);
  if (!subject.ok()) return reply(request, std::move(subject).error());
  if (sight.connection == 0) {
    return reply(request, unavailable(name + " is not connected, and health is judged there; try "
                                             "again once its agent is back"));
  }
  const bool clear = act.action == NodeAction::kClear;
  const std::string what = act.device.empty() ? name : "device " + act.device + " of " + name;
  if (clear && !is_anything_ill(sight.health, *subject)) {
    return reply(request, failed_precondition("nothing is wrong with " + what));
  }
  HealthOrder order{*subject, clear ? HealthAction::kClear : HealthAction::kCheck, act.who,
                    act.why};
  note(clear ? "health_cleared" : "health_check_wanted",
       "name=" + name + " " + name_of(order.subject) + " by=" + quote_text(act.who) + " why=" +
           quote_text(act.why), {}, node.id);
  send(node.id, std::move(order));
  reply(request, JobId{},
        clear ? what + " is cleared; what comes out of quarantine is on probation"
              : what + " is tested as soon as it is idle");
}

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
  see(node);
}

}  // namespace keiko::cluster
