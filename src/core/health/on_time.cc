// What the clock alone does: timers that end conditions, reviews of what nothing has ended,
// incidents that nothing can join any more; and at the end of each step, who is newly in quarantine
// or out.
#include <algorithm>
#include <tuple>

#include "core/health/device_names.h"
#include "core/health/health_steps.h"

namespace keiko::health {
namespace {

struct Due {
  HealthSubject subject;
  uint64_t incident = 0;
  Time at;
};

/// RETURNS: the conditions whose time of `member` has come, oldest first.
std::vector<Due> due_conditions(const HealthState& state, Time Condition::* member, Time now) {
  std::vector<Due> due;
  for (const auto& [name, node] : state.nodes) {
    for (const auto& [subject, health] : node.subjects) {
      for (const auto& [id, condition] : health.conditions) {
        const Time at = condition.*member;
        if (at > Time{} && at <= now) due.push_back({subject, id, at});
      }
    }
  }
  std::sort(due.begin(), due.end(), [](const Due& a, const Due& b) {
    return std::tie(a.at, a.incident) < std::tie(b.at, b.incident);
  });
  return due;
}

/// RETURNS: when the subject last had something, as far as it is remembered.
Time last_ended(const SubjectState& health) {
  Time last = std::max(health.lemon.at, health.probation_until);
  for (const auto& [cause, past] : health.history) last = std::max(last, past.ended_at);
  return last;
}

}  // namespace

void HealthSteps::on(const Wake& /*event*/) {}

// Before every event: what has ended by then has ended, whatever the event says.
void HealthSteps::keep_time() {
  settle();
  end_timers();
  review();
}

void HealthSteps::end_timers() {
  for (const Due& due : due_conditions(state_, &Condition::ends_at, now_)) {
    end(due.subject, due.incident, {kByTimer, {}, due.at, "it did not come back"});
  }
}

void HealthSteps::review() {
  for (const Due& due : due_conditions(state_, &Condition::review_at, now_)) {
    Condition& condition = health_of(due.subject).conditions.at(due.incident);
    // The times follow from the first one, so they are the same however often time is kept.
    while (condition.review_at <= now_) {
      condition.review_pause = std::min(condition.review_pause * 2, state_.options.review_most);
      condition.review_at = condition.review_at + condition.review_pause;
    }
    const Incident& incident = state_.open.at(due.incident);
    ask(incident, condition);
    const RemedyRule& rule = rule_of(condition.remedy);
    Effect& reminder = tell(EffectKind::kNote, due.subject,
                            to_text(due.subject) + " still waits for " + rule.asks_for + " after " +
                                to_text(now_ - condition.since) + ": " + condition.cause +
                                "; it ends by " + exits_text(condition.exits));
    reminder.incident = due.incident;
  }
}

void HealthSteps::settle() {
  std::vector<uint64_t> over;
  for (const auto& [id, incident] : state_.open) {
    const bool past = incident.last_at + state_.options.cascade_window <= now_;
    if (!incident.settled && past) over.push_back(id);
  }
  for (const uint64_t id : over) {
    Incident& incident = state_.open.at(id);
    incident.settled = true;
    // What only now is known: that nobody came to explain it.
    if (incident.recovered_at == Time{} && incident.remedy == Remedy::kIgnore) {
      rejudge(incident, incident.last_at + state_.options.cascade_window);
    }
  }
}

void HealthSteps::finish() {
  close_incidents();
  Effects asked = std::move(effects_);
  effects_.clear();
  for (const std::string& name : touched_) {
    const auto node = state_.nodes.find(name);
    if (node == state_.nodes.end()) continue;
    tell_quarantine(node->second);
    forget_subjects(node->second);
  }
  effects_.insert(effects_.end(), asked.begin(), asked.end());
}

void HealthSteps::close_incidents() {
  for (auto entry = state_.open.begin(); entry != state_.open.end();) {
    Incident& incident = entry->second;
    const auto node = state_.nodes.find(incident.subject.node);
    const bool ill = node != state_.nodes.end() &&
                     node->second.subjects.contains(incident.subject) &&
                     node->second.subjects.at(incident.subject).conditions.contains(entry->first);
    if (ill || !incident.settled) {
      ++entry;
      continue;
    }
    if (incident.recovered_at == Time{}) {
      incident.recovered_at = incident.last_at;
      incident.ended_by = "there was nothing to heal";
    }
    Effect& note = tell(EffectKind::kNote, incident.subject, "incident " +
                        std::to_string(incident.id) + " is over: " + incident.ended_by);
    note.incident = incident.id;
    state_.closed.push_back(std::move(incident));
    entry = state_.open.erase(entry);
  }
  const auto most = static_cast<size_t>(state_.options.history_most);
  const size_t kept = std::min(most, state_.closed.size());
  state_.closed.erase(state_.closed.begin(),
                      state_.closed.end() - static_cast<std::ptrdiff_t>(kept));
}

void HealthSteps::tell_quarantine(NodeHealth& node) {
  const auto now_in = quarantine_of(node);
  for (const auto& [subject, condition] : now_in) {
    if (node.quarantined.contains(subject)) continue;
    Effect& effect = tell(EffectKind::kQuarantine, subject,
                          condition->cause + ": " + condition->evidence + "; ends by " +
                              exits_text(condition->exits));
    effect.incident = condition->incident;
  }
  for (const HealthSubject& subject : node.quarantined) {
    if (now_in.contains(subject)) continue;
    Effect& effect = tell(EffectKind::kRelease, subject, "nothing is wrong with it any more");
    for (const HealthSubject& carrier : carriers(node, subject)) {
      const auto health = node.subjects.find(carrier);
      if (health == node.subjects.end()) continue;
      effect.at = std::max(effect.at, health->second.probation_until);
    }
  }
  node.quarantined.clear();
  for (const auto& [subject, condition] : now_in) node.quarantined.insert(subject);
}

/// Interfaces come and go under ever new names; what has nothing open makes room, the oldest first.
void HealthSteps::forget_subjects(NodeHealth& node) const {
  while (node.subjects.size() > kMaxSubjects) {
    auto oldest = node.subjects.end();
    for (auto entry = node.subjects.begin(); entry != node.subjects.end(); ++entry) {
      if (!entry->second.conditions.empty()) continue;
      const bool older = oldest == node.subjects.end() ||
                         last_ended(entry->second) < last_ended(oldest->second);
      if (older) oldest = entry;
    }
    if (oldest == node.subjects.end()) return;
    node.subjects.erase(oldest);
  }
}

Time HealthSteps::next_due() const {
  Time next{INT64_MAX};
  const auto consider = [&](Time at) {
    if (at > Time{} && at < next) next = std::max(at, now_ + nanoseconds(1));
  };
  for (const auto& [name, node] : state_.nodes) {
    for (const auto& [subject, health] : node.subjects) {
      for (const auto& [id, condition] : health.conditions) {
        consider(condition.ends_at);
        consider(condition.review_at);
      }
    }
  }
  for (const auto& [id, incident] : state_.open) {
    if (!incident.settled) consider(incident.last_at + state_.options.cascade_window);
  }
  return next;
}

}  // namespace keiko::health
