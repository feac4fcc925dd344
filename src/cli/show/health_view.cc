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

std::string subject_text(const std::string& kind, const std::string& name) {
  return name.empty() ? kind : kind + " " + name;
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

}  // namespace

Table health_table(const google::protobuf::RepeatedPtrField<v1::Node>& nodes, Time now) {
  struct One {
    const v1::Node* node;
    const v1::SubjectHealth* health;
  };
  std::vector<One> all;
  for (const v1::Node& node : nodes) {
    for (const v1::SubjectHealth& health : node.health()) all.push_back({&node, &health});
  }
  std::stable_sort(all.begin(), all.end(), [](const One& a, const One& b) {
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
  for (const One& one : all) {
    const v1::SubjectHealth& health = *one.health;
    const bool well = health.level() == "healthy";
    table.rows.push_back({one.node->name(), subject_text(health.kind(), health.name()),
                          Cell(health.level(), colour_of(health.level())), work_text(health),
                          health.cause(), well ? "" : age_of(health.since(), now), health.owner(),
                          health.ends_by(), lemon_text(health.lemon_millionths()),
                          health.evidence()});
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
    table.rows.push_back({told.node->name(), std::to_string(incident.id()),
                          age_of(incident.opened_at(), now),
                          open ? Cell("open", Colour::kYellow) : Cell("ended"),
                          subject_text(incident.kind(), incident.name()), incident.story()});
  }
  return table;
}

std::string health_page(const v1::Node& node, const Console& console) {
  if (node.health().empty()) return node.name() + " is healthy\n";
  std::string page;
  for (const v1::SubjectHealth& health : node.health()) {
    if (!page.empty()) page += "\n";
    page += console.paint(Colour::kBold, subject_text(health.kind(), printable(health.name()))) +
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
  return page;
}

}  // namespace keiko::cli
