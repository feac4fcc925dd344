#include "cli/show/health_view.h"

#include <algorithm>
#include <vector>

#include "cli/show/job_view.h"
#include "wire/convert.h"

namespace keiko::cli {
namespace {

Colour colour_of(const std::string& level) {
  if (level == "unhealthy") return Colour::kRed;
  return level == "degraded" ? Colour::kYellow : Colour::kPlain;
}

/// "device 3 GPU-5f1c...": by the index that verbs take, and by the name that no change of places
/// takes away.
std::string subject_text(const v1::Node& node, const std::string& kind, const std::string& name) {
  if (name.empty()) return kind;
  for (const v1::Device& device : node.devices()) {
    if (kind != "device" || device.uuid() != name) continue;
    return kind + " " + std::to_string(device.index()) + " " + name;
  }
  return kind + " " + name;
}

std::string work_text(const v1::SubjectHealth& health) {
  if (health.quarantined()) return "none";
  return health.on_probation() ? "on probation" : "as usual";
}

/// Quarantine first, then what is degraded, then probation.
int gravity(const v1::SubjectHealth& health) {
  if (health.quarantined()) return 0;
  return health.level() == "healthy" ? 2 : 1;
}

std::string lemon_text(int64_t millionths) {
  const int64_t hundredths = millionths / 10'000;
  std::string cents = std::to_string(100 + hundredths % 100).substr(1);
  return std::to_string(hundredths / 100) + "." + cents;
}

struct Told {
  const v1::Node* node;
  const v1::Incident* incident;
};

struct Subject {
  const v1::Node* node;
  const v1::SubjectHealth* health;
};

/// RETURNS: whether anything has to be done about it, or is held back from it.
bool is_notable(const v1::SubjectHealth& health) {
  return health.level() != "healthy" || health.on_probation() || health.quarantined();
}

std::vector<Subject> subjects_of(const google::protobuf::RepeatedPtrField<v1::Node>& nodes) {
  std::vector<Subject> all;
  for (const v1::Node& node : nodes) {
    for (const v1::SubjectHealth& health : node.health()) all.push_back({&node, &health});
  }
  return all;
}

struct Past {
  int64_t within_week = 0;
  const v1::Incident* last = nullptr;
};

Past past_of(const Subject& subject, Time now) {
  constexpr Duration kWeek = hours(24 * 7);
  Past past;
  for (const v1::Incident& incident : subject.node->incidents()) {
    // What befalls a node's devices counts for the node as well.
    const bool same = subject.health->kind() == "node" ||
                      (incident.kind() == subject.health->kind() &&
                       incident.name() == subject.health->name());
    if (!same) continue;
    const Time at = from_proto(incident.opened_at());
    if (now - at <= kWeek) ++past.within_week;
    if (past.last == nullptr || at > from_proto(past.last->opened_at())) past.last = &incident;
  }
  return past;
}

}  // namespace

Table health_table(const google::protobuf::RepeatedPtrField<v1::Node>& nodes, Time now) {
  std::vector<Subject> all = subjects_of(nodes);
  std::erase_if(all, [](const Subject& one) { return !is_notable(*one.health); });
  std::stable_sort(all.begin(), all.end(), [](const Subject& a, const Subject& b) {
    return gravity(*a.health) < gravity(*b.health);
  });
  Table table{{{"NODE"},
               {"SUBJECT", false, false, true},
               {"HEALTH"},
               {"NEW WORK"},
               {"CAUSE"},
               {"SINCE"},
               {"TURN"},
               {"ENDS BY"},
               {"LEMON", true, true},
               {"EVIDENCE", false, true, true}},
              {}};
  for (const Subject& one : all) {
    const v1::SubjectHealth& health = *one.health;
    const bool well = health.level() == "healthy";
    table.rows.push_back({one.node->name(), subject_text(*one.node, health.kind(), health.name()),
                          Cell(health.level(), colour_of(health.level())), work_text(health),
                          health.cause(), well ? "" : age_of(health.since(), now), health.owner(),
                          health.ends_by(), lemon_text(health.lemon_millionths()),
                          health.evidence()});
  }
  return table;
}

Table lemons_table(const google::protobuf::RepeatedPtrField<v1::Node>& nodes, Time now) {
  std::vector<Subject> all = subjects_of(nodes);
  std::erase_if(all, [](const Subject& one) { return one.health->lemon_millionths() <= 0; });
  std::stable_sort(all.begin(), all.end(), [](const Subject& a, const Subject& b) {
    return a.health->lemon_millionths() > b.health->lemon_millionths();
  });
  Table table{{{"NODE"},
               {"SUBJECT", false, false, true},
               {"LEMON", true},
               {"WEEK", true},
               {"LAST"},
               {"CAUSE"},
               {"HEALTH"},
               {"NEW WORK"}},
              {}};
  for (const Subject& one : all) {
    const v1::SubjectHealth& health = *one.health;
    const Past past = past_of(one, now);
    table.rows.push_back({one.node->name(), subject_text(*one.node, health.kind(), health.name()),
                          lemon_text(health.lemon_millionths()),
                          std::to_string(past.within_week),
                          past.last == nullptr ? "" : age_of(past.last->opened_at(), now),
                          past.last == nullptr ? "" : past.last->cause(),
                          Cell(health.level(), colour_of(health.level())), work_text(health)});
  }
  return table;
}

Table incidents_table(const google::protobuf::RepeatedPtrField<v1::Node>& nodes, Time now) {
  std::vector<Told> all;
  for (const v1::Node& node : nodes) {
    for (const v1::Incident& incident : node.incidents()) all.push_back({&node, &incident});
  }
  std::stable_sort(all.begin(), all.end(), [](const Told& a, const Told& b) {
    return from_proto(a.incident->opened_at()) > from_proto(b.incident->opened_at());
  });
  Table table{{{"NODE"},
               {"ID", true},
               {"OPENED"},
               {"STATUS"},
               {"SUBJECT", false, true, true},
               {"STORY", false, false, true}},
              {}};
  for (const Told& told : all) {
    const v1::Incident& incident = *told.incident;
    const bool open = !incident.has_recovered_at();
    table.rows.push_back(
        {told.node->name(), std::to_string(incident.id()), age_of(incident.opened_at(), now),
         open ? Cell("open", Colour::kYellow) : Cell("ended"),
         subject_text(*told.node, incident.kind(), incident.name()), incident.story()});
  }
  return table;
}

std::string silence_text(const google::protobuf::RepeatedPtrField<v1::Node>& nodes) {
  std::string silent;
  for (const v1::Node& node : nodes) {
    if (node.status() != "LOST" && node.status() != "UNREACHABLE") continue;
    silent += (silent.empty() ? "" : ", ") + node.name() + " is " + node.status();
  }
  return silent.empty() ? "" : silent + ": what may be wrong there is not known; see keiko nodes";
}

std::string health_page(const v1::Node& node, const Console& console) {
  std::string page;
  for (const v1::SubjectHealth& health : node.health()) {
    if (!is_notable(health)) continue;
    if (!page.empty()) page += "\n";
    page +=
        console.paint(Colour::kBold, printable(subject_text(node, health.kind(), health.name()))) +
        " of " + node.name() + "\n  " + printable(health.sentence()) + "\n";
    for (const v1::Incident& incident : node.incidents()) {
      if (incident.id() != health.incident()) continue;
      page += "  incident " + std::to_string(incident.id()) + ": " + printable(incident.story()) +
              "\n";
      for (const v1::IncidentStep& step : incident.steps()) {
        page += "    " + to_text(from_proto(step.at())) + "  " + printable(step.text()) + "\n";
      }
    }
  }
  return page.empty() ? node.name() + " is healthy\n" : page;
}

}  // namespace keiko::cli
