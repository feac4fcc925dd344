// The state of health: what is open on which subject, incidents, what was seen before. It follows
// from the events alone and is changed by HealthBrain alone; its owner may store it as bytes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "core/health/incident.h"

namespace keiko::health {

/// What is known of one subject. By cause: what happened before, however it ended.
struct SubjectState {
  std::map<uint64_t, Condition> conditions;  ///< by incident
  std::map<std::string, Recurrence> history;
  std::vector<Time> app_faults;              ///< the last ones, oldest first
  Time probation_until;
  LemonScore lemon;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "conditions", s.conditions);
    v(2, "history", s.history);
    v(3, "app_faults", s.app_faults);
    v(4, "probation_until", s.probation_until);
    v(5, "lemon", s.lemon);
  }
};
inline constexpr size_t kMaxHistory = 64;  ///< causes of a subject
inline constexpr size_t kMaxSubjects = 512;  ///< of a node; more only if all have something open

/// Names one line for all time, within one boot of one machine.
struct SeenKey {
  int64_t boot_us = 0;
  ObservationKind kind = ObservationKind::kXid;
  int64_t code = 0;
  HealthSubject subject;
  ObservationSource source = ObservationSource::kProbe;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "boot_us", s.boot_us);
    v(2, "kind", s.kind);
    v(3, "code", s.code);
    v(4, "subject", s.subject);
    v(5, "source", s.source);
  }
  friend auto operator<=>(const SeenKey&, const SeenKey&) = default;
};

/// What was counted already; see seen.h.
struct SeenLines {
  std::map<SeenKey, bool> lines;  ///< true: the other source told of it, too
  int64_t forgotten_us = 0;       ///< all lines up to here were seen and are forgotten

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "lines", s.lines);
    v(2, "forgotten_us", s.forgotten_us);
  }
};

struct NodeHealth {
  std::string boot;                     ///< the present one; empty: unknown
  std::vector<std::string> past_boots;  ///< the last ones, oldest first
  std::vector<HealthDevice> devices;
  std::map<HealthSubject, SubjectState> subjects;
  SeenLines seen;
  std::set<HealthSubject> quarantined;  ///< as told

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "boot", s.boot);
    v(2, "past_boots", s.past_boots);
    v(3, "devices", s.devices);
    v(4, "subjects", s.subjects);
    v(5, "seen", s.seen);
    v(6, "quarantined", s.quarantined);
  }
};

struct HealthState {
  HealthOptions options;
  Time now;
  uint64_t next_incident = 1;
  std::map<std::string, NodeHealth> nodes;
  std::map<uint64_t, Incident> open;
  std::vector<Incident> closed;  ///< oldest first

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "options", s.options);
    v(2, "now", s.now);
    v(3, "next_incident", s.next_incident);
    v(4, "nodes", s.nodes);
    v(5, "open", s.open);
    v(6, "closed", s.closed);
  }
};

std::string encode_health(const HealthState& state);

/// RETURNS: kDataLoss for bytes that are no sound state.
Result<HealthState> decode_health(std::string_view bytes);

/// RETURNS: the digest of everything but the clock's last reading.
Digest digest_of(const HealthState& state);

/// Holds the laws: every condition belongs to an open incident, names remedies and kinds that
/// exist, has an exit and a time at which somebody looks at it again; ids are below the counter;
/// what is quarantined is what follows from the conditions. RETURNS: kInternal naming the first
/// broken one.
Done check_health(const HealthState& state);

}  // namespace keiko::health
