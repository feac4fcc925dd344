// What is observed about the health of devices, links, NICs and nodes, as plain structs: drivers,
// checks and the kernel's log say it, core/health judges it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"

namespace keiko {

enum class HealthSubjectKind : int { kNode = 0, kDevice = 1, kLink = 2, kNic = 3 };
std::string to_text(HealthSubjectKind kind);  ///< "node", "device", "link", "nic"

/// What may be well or ill. A device is named by its UUID, or by its PCI address where that is all
/// that was known; a link by its two ends; a node has its own name alone.
struct HealthSubject {
  std::string node;
  HealthSubjectKind kind = HealthSubjectKind::kNode;
  std::string name;  ///< empty for a node

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "node", s.node);
    v(2, "kind", s.kind);
    v(3, "name", s.name);
  }
  friend auto operator<=>(const HealthSubject&, const HealthSubject&) = default;
};
std::string to_text(const HealthSubject& subject);  ///< "device GPU-1 of n1", "node n1"

/// Tags are forever, as those of fields are.
enum class ObservationKind : int {
  kXid = 1,               ///< code: the XID; value: what 154 asks for, 1 if an NVLink XID is fatal
  kEccUncorrectable = 2,
  kEccSramAggregate = 3,  ///< value: uncorrectable errors of its life
  kRowRemapPending = 4,
  kRowRemapFailure = 5,
  kThermalSlowdown = 6,
  kPowerBrake = 7,
  kLinkDown = 8,
  kLinkSlow = 9,          ///< value of limit, in any unit
  kDeviceLost = 10,
  kDeviceBack = 11,
  kPreflightFailed = 12,
  kCheckResult = 13,      ///< code: 0 OK, 1 WARN, 2 CRIT, 3 no answer; detail: which check
  kDiskLow = 14,          ///< value: bytes free; limit: the floor; detail: the place
  kClockSkew = 15,        ///< value: microseconds away
  kDstateProcess = 16,    ///< value: pid
  kMemoryNotReleased = 17,  ///< value: bytes still held
  kReboot = 18,           ///< boot: the new one
  kRetestPassed = 19,     ///< detail: what was not covered
  kOperatorClear = 20,    ///< detail: who
  kLinkUp = 21,
  kDeviceReset = 22,      ///< it was reset and answers
  kRecovered = 23,        ///< code: the ObservationKind that is over; detail as there
  kDeviceHang = 24,       ///< its driver found it hanging and resets it
  kResetFailed = 25,
  kIoError = 26,          ///< detail: the disk
  kOutOfMemory = 27,      ///< the kernel killed a process; value: its pid
  kLogGap = 28,           ///< value: records of the kernel's log that nobody saw
};
std::string to_text(ObservationKind kind);  ///< "xid", "ecc_uncorrectable", ...

/// RETURNS: the kind of this name, or nothing.
std::optional<ObservationKind> parse_observation_kind(std::string_view name);

enum class ObservationSource : int {
  kProbe = 0,
  kVendorLibrary = 1,
  kKernelLog = 2,
  kOperator = 3
};
std::string to_text(ObservationSource source);

/// One thing that somebody saw. `at` alone orders and decides; the wall clock is for people.
struct Observation {
  HealthSubject subject;
  ObservationKind kind = ObservationKind::kXid;
  ObservationSource source = ObservationSource::kProbe;
  Time at;                ///< when it happened, on the clock of the brain that is told
  std::string boot;       ///< boot id of the machine; empty: unknown
  int64_t boot_us = 0;    ///< on the kernel's clock since that boot; 0: unknown
  int64_t wall_ms = 0;    ///< since the Unix epoch; 0: unknown
  int64_t code = 0;
  int64_t value = 0;
  int64_t limit = 0;
  int32_t gpu_instance = -1;  ///< of a device split by MIG; -1: all of it, or unknown
  std::string detail;
  std::string text;       ///< the raw line or sentence: the evidence

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "subject", s.subject);
    v(2, "kind", s.kind);
    v(3, "source", s.source);
    v(4, "at", s.at);
    v(5, "boot", s.boot);
    v(6, "boot_us", s.boot_us);
    v(7, "wall_ms", s.wall_ms);
    v(8, "code", s.code);
    v(9, "value", s.value);
    v(10, "limit", s.limit);
    v(11, "gpu_instance", s.gpu_instance);
    v(12, "detail", s.detail);
    v(13, "text", s.text);
  }
  friend bool operator==(const Observation&, const Observation&) = default;
};

}  // namespace keiko
