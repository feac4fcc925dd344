#include "core/health/story.h"

#include <algorithm>
#include <tuple>

#include "core/health/device_names.h"
#include "core/health/lemon.h"
#include "core/health/policy/observation_rule.h"

namespace keiko::health {
namespace {

bool is_graver(const Condition& a, const Condition& b) {
  return a.remedy != b.remedy ? a.remedy > b.remedy : a.since < b.since;
}

/// Of a slice's device, only what is about this slice or all of them.
bool concerns(const NodeHealth& node, const HealthSubject& carrier, const Condition& condition,
              const HealthSubject& subject) {
  if (carrier == subject && condition.scope != FaultScope::kSlice) return true;
  const auto all = affected(node, carrier, condition);
  return carrier == subject || std::find(all.begin(), all.end(), subject) != all.end();
}

void fill(HealthView& view, const Condition& condition) {
  const RemedyRule& rule = rule_of(condition.remedy);
  view.level = rule.level;
  view.cause = condition.cause;
  view.evidence = condition.evidence;
  view.since = condition.since;
  view.owner = rule.owner;
  view.remedy = condition.remedy;
  view.exits = condition.exits;
  view.ends_at = condition.ends_at;
  view.incident = condition.incident;
}

std::string sentence_of(const HealthView& view) {
  std::string text = to_text(view.level);
  if (view.level == HealthLevel::kHealthy) {
    return view.on_probation ? text + ", on probation until " + to_text(view.probation_until)
                             : text;
  }
  text += " since " + to_text(view.since) + ": " + view.cause + " (" + view.evidence + "); ";
  text += view.quarantined ? "takes no new work; " : "";
  text += "asks for " + std::string(rule_of(view.remedy).asks_for) + " (" + to_text(view.owner) +
          "'s turn); ends by " + exits_text(view.exits);
  return text;
}

std::string name_of(const Sighting& seen) { return cause_of(seen.kind, seen.code, seen.detail); }

std::string times_text(const Incident& incident) {
  int64_t count = incident.left_out;
  for (const Sighting& seen : incident.sightings) count += seen.count;
  if (count < 2) return {};
  return ", seen " + std::to_string(count) + " times in " +
         to_text(incident.last_at - incident.opened_at);
}

std::string chain_text(const Incident& incident) {
  std::vector<const Sighting*> others;
  const Sighting* root = &incident.sightings.front();
  for (const Sighting& seen : incident.sightings) {
    if (name_of(seen) == incident.cause) root = &seen;
  }
  for (const Sighting& seen : incident.sightings) {
    if (&seen != root) others.push_back(&seen);
  }
  std::sort(others.begin(), others.end(), [](const auto* a, const auto* b) {
    return std::make_pair(a->boot_us, a->at) < std::make_pair(b->boot_us, b->at);
  });
  std::string text = incident.cause + " (" + words_of(*root) + ")";
  for (size_t i = 0; i < others.size(); ++i) {
    text += (i == 0 ? ", with it " : ", ") + name_of(*others[i]);
  }
  return text;
}

/// RETURNS: what is wrong with `asked`, gravest first in its eyes; nullptr if nothing is.
const Condition* gravest_of(const NodeHealth& node, const HealthSubject& asked) {
  const Condition* gravest = nullptr;
  for (const HealthSubject& carrier : carriers(node, asked)) {
    const auto health = node.subjects.find(carrier);
    if (health == node.subjects.end()) continue;
    for (const auto& [id, condition] : health->second.conditions) {
      if (!concerns(node, carrier, condition, asked)) continue;
      if (gravest == nullptr || is_graver(condition, *gravest)) gravest = &condition;
    }
  }
  const auto quarantine = quarantine_of(node);
  const auto kept = quarantine.find(asked);
  if (kept == quarantine.end()) return gravest;
  return gravest == nullptr || is_graver(*kept->second, *gravest) ? kept->second : gravest;
}

void fill_past(HealthView& view, const HealthState& state, const NodeHealth& node) {
  for (const HealthSubject& carrier : carriers(node, view.subject)) {
    const auto health = node.subjects.find(carrier);
    if (health == node.subjects.end()) continue;
    view.probation_until = std::max(view.probation_until, health->second.probation_until);
    const int64_t score = score_at(health->second.lemon, state.now, state.options.lemon_half_life);
    view.lemon_millionths = std::max(view.lemon_millionths, score);
  }
}

}  // namespace

std::string words_of(const Sighting& seen) {
  const XidRule* xid = seen.kind == ObservationKind::kXid ? find_xid(seen.code) : nullptr;
  if (xid != nullptr) return xid->name;
  const ObservationRule* rule = find_rule(seen.kind);
  return rule == nullptr ? "unknown" : rule->words;
}

HealthView view_of(const HealthState& state, const HealthSubject& asked) {
  HealthView view;
  view.subject = asked;
  const auto node = state.nodes.find(asked.node);
  if (node != state.nodes.end()) {
    const Condition* gravest = gravest_of(node->second, asked);
    if (gravest != nullptr) fill(view, *gravest);
    view.quarantined = gravest != nullptr && rule_of(gravest->remedy).quarantine;
    fill_past(view, state, node->second);
  }
  view.on_probation = view.probation_until > state.now;
  view.sentence = sentence_of(view);
  return view;
}

std::vector<HealthView> lemons(const HealthState& state) {
  std::vector<HealthView> all;
  for (const auto& [name, node] : state.nodes) {
    for (const auto& [subject, health] : node.subjects) all.push_back(view_of(state, subject));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(b.lemon_millionths, a.subject) < std::tie(a.lemon_millionths, b.subject);
  });
  return all;
}

std::string story(const Incident& incident) {
  std::string text = to_text(incident.opened_at) + " " + to_text(incident.subject) + ": " +
                     chain_text(incident) + times_text(incident);
  for (const IncidentEntry& entry : incident.entries) text += "; " + entry.text;
  if (incident.recovered_at == Time{}) return text + "; it is open";
  return text + "; over after " + to_text(incident.recovered_at - incident.opened_at) + ": " +
         incident.ended_by;
}

const Incident* find_incident(const HealthState& state, uint64_t id) {
  const auto open = state.open.find(id);
  if (open != state.open.end()) return &open->second;
  const auto closed = std::find_if(state.closed.begin(), state.closed.end(),
                                   [&](const Incident& known) { return known.id == id; });
  return closed == state.closed.end() ? nullptr : &*closed;
}

}  // namespace keiko::health
