// The parts of the state of health: what is open on a subject, and incidents from cause to
// recovery. Changed by HealthBrain alone.
#pragma once

#include <string>
#include <vector>

#include "core/health/options.h"
#include "core/health/policy/remedy.h"
#include "core/health/policy/xid_table.h"
#include "model/health.h"

namespace keiko::health {

/// A device as its node's drivers found it: who is whose slice, and what PCI address is whose.
struct HealthDevice {
  std::string uuid;
  std::string pci_address;
  std::string parent_uuid;    ///< of a MIG slice
  int32_t gpu_instance = -1;  ///< of a MIG slice, where known

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "uuid", s.uuid);
    v(2, "pci_address", s.pci_address);
    v(3, "parent_uuid", s.parent_uuid);
    v(4, "gpu_instance", s.gpu_instance);
  }
  friend bool operator==(const HealthDevice&, const HealthDevice&) = default;
};

/// One kind of thing that an incident consists of, with how often it was seen.
struct Sighting {
  ObservationKind kind = ObservationKind::kXid;
  ObservationSource source = ObservationSource::kProbe;
  int64_t code = 0;
  int64_t value = 0;  ///< the latest
  int32_t gpu_instance = -1;
  Time at;            ///< the first
  int64_t boot_us = 0;
  Time last_at;
  int64_t count = 1;
  std::string detail;
  std::string text;   ///< the first's raw line

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "kind", s.kind);
    v(2, "source", s.source);
    v(3, "code", s.code);
    v(4, "value", s.value);
    v(5, "gpu_instance", s.gpu_instance);
    v(6, "at", s.at);
    v(7, "boot_us", s.boot_us);
    v(8, "last_at", s.last_at);
    v(9, "count", s.count);
    v(10, "detail", s.detail);
    v(11, "text", s.text);
  }
};
inline constexpr size_t kMaxSightings = 16;

/// RETURNS: the first sighting of what was observed.
Sighting sighting_of(const Observation& seen);

/// Something that was decided or that happened in the course of an incident.
struct IncidentEntry {
  Time at;
  std::string text;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "at", s.at);
    v(2, "text", s.text);
  }
};
inline constexpr size_t kMaxEntries = 24;

/// One thing that went wrong, from its cause over what was done to its recovery. A cascade of
/// faults on one device is one incident, named by its root.
struct Incident {
  uint64_t id = 0;
  HealthSubject subject;
  std::string cause;  ///< "xid_62", "link_down", "check_disk"
  Remedy remedy = Remedy::kIgnore;
  FaultScope scope = FaultScope::kDevice;
  std::vector<Sighting> sightings;
  int64_t left_out = 0;  ///< observations beyond kMaxSightings
  std::vector<IncidentEntry> entries;
  Time opened_at;
  Time last_at;          ///< of its latest observation
  bool settled = false;  ///< nothing can join it any more
  bool suspect = false;  ///< one fault of programs too many
  bool charged = false;  ///< counts in the lemon scores
  Time recovered_at;     ///< once closed
  std::string ended_by;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "id", s.id);
    v(2, "subject", s.subject);
    v(3, "cause", s.cause);
    v(4, "remedy", s.remedy);
    v(5, "scope", s.scope);
    v(6, "sightings", s.sightings);
    v(7, "left_out", s.left_out);
    v(8, "entries", s.entries);
    v(9, "opened_at", s.opened_at);
    v(10, "last_at", s.last_at);
    v(11, "settled", s.settled);
    v(12, "suspect", s.suspect);
    v(13, "charged", s.charged);
    v(14, "recovered_at", s.recovered_at);
    v(15, "ended_by", s.ended_by);
  }
};

/// What is wrong with a subject now, and what ends it.
struct Condition {
  uint64_t incident = 0;
  std::string cause;
  Remedy remedy = Remedy::kObserve;
  uint32_t exits = kByOperator;
  FaultScope scope = FaultScope::kDevice;
  int32_t gpu_instance = -1;
  Time since;
  Time last_seen;
  Time ends_at;          ///< 0: by no timer that runs now
  Time review_at;        ///< when somebody is reminded; never 0
  Duration review_pause;
  std::string evidence;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "incident", s.incident);
    v(2, "cause", s.cause);
    v(3, "remedy", s.remedy);
    v(4, "exits", s.exits);
    v(5, "scope", s.scope);
    v(6, "gpu_instance", s.gpu_instance);
    v(7, "since", s.since);
    v(8, "last_seen", s.last_seen);
    v(9, "ends_at", s.ends_at);
    v(10, "review_at", s.review_at);
    v(11, "review_pause", s.review_pause);
    v(12, "evidence", s.evidence);
  }
};

/// How often a cause came back on a subject, whatever was done about it.
struct Recurrence {
  int32_t resets = 0;
  int32_t reboots = 0;
  int32_t flaps = 0;
  Time ended_at;  ///< the last time

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "resets", s.resets);
    v(2, "reboots", s.reboots);
    v(3, "flaps", s.flaps);
    v(4, "ended_at", s.ended_at);
  }
};

/// A score that halves with time, in millionths, as it was at one moment.
struct LemonScore {
  int64_t millionths = 0;
  Time at;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "millionths", s.millionths);
    v(2, "at", s.at);
  }
};

}  // namespace keiko::health
