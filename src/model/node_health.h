// What an agent tells of its node's health: what is ill or on probation, and what became of it.
// core/health judges on the node; server and people read this. Words are those of core/health.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/health.h"

namespace keiko {

/// How one subject fares. What is well and not on probation is left out.
struct SubjectHealth {
  HealthSubject subject;     ///< a device by its UUID; `node` is left empty, the report says whose
  std::string level;         ///< "healthy" (on probation), "degraded", "unhealthy"
  bool quarantined = false;  ///< takes no new work
  bool on_probation = false;
  std::string cause;         ///< "xid_79"
  std::string evidence;      ///< the raw line
  std::string owner;         ///< whose turn it is: "keiko", "operator", "vendor"
  std::string ends_by;       ///< "reset, reboot or operator"
  Time since;
  uint64_t incident = 0;
  int64_t lemon_millionths = 0;  ///< incidents, decayed
  std::string sentence;      ///< all of it for a person

  friend bool operator==(const SubjectHealth&, const SubjectHealth&) = default;
};

struct IncidentStep {
  Time at;
  std::string text;
  friend bool operator==(const IncidentStep&, const IncidentStep&) = default;
};

/// One thing that went wrong, from its cause over what was done to its recovery.
struct IncidentRecord {
  uint64_t id = 0;  ///< counted by its node
  HealthSubject subject;
  std::string cause;
  std::string remedy;
  Time opened_at;
  Time recovered_at;  ///< 0: open
  std::string ended_by;
  std::string story;  ///< one sentence
  std::vector<IncidentStep> steps;

  friend bool operator==(const IncidentRecord&, const IncidentRecord&) = default;
};

/// The whole of it, each time: a report that is lost is made up for by the next.
struct HealthReport {
  std::vector<SubjectHealth> subjects;
  bool drain = false;  ///< what runs on the node should go elsewhere
  std::vector<IncidentRecord> incidents;  ///< the newest last

  friend bool operator==(const HealthReport&, const HealthReport&) = default;
};
/// RETURNS: whether an operator who means `subject`, or all of the node, would find something to
/// clear. `subject.node` does not matter.
bool is_anything_ill(const HealthReport& report, const HealthSubject& subject);

/// Incidents in a report at most; the node itself keeps more.
inline constexpr size_t kMaxReportedIncidents = 64;

}  // namespace keiko
