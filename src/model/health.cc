#include "model/health.h"

#include <array>
#include <utility>

namespace keiko {
namespace {

using Kind = ObservationKind;

constexpr std::array<std::pair<Kind, const char*>, 28> kKinds{{
    {Kind::kXid, "xid"},
    {Kind::kEccUncorrectable, "ecc_uncorrectable"},
    {Kind::kEccSramAggregate, "ecc_sram_aggregate"},
    {Kind::kRowRemapPending, "row_remap_pending"},
    {Kind::kRowRemapFailure, "row_remap_failure"},
    {Kind::kThermalSlowdown, "thermal_slowdown"},
    {Kind::kPowerBrake, "power_brake"},
    {Kind::kLinkDown, "link_down"},
    {Kind::kLinkSlow, "link_slow"},
    {Kind::kDeviceLost, "device_lost"},
    {Kind::kDeviceBack, "device_back"},
    {Kind::kPreflightFailed, "preflight_failed"},
    {Kind::kCheckResult, "check_result"},
    {Kind::kDiskLow, "disk_low"},
    {Kind::kClockSkew, "clock_skew"},
    {Kind::kDstateProcess, "dstate_process"},
    {Kind::kMemoryNotReleased, "memory_not_released"},
    {Kind::kReboot, "reboot"},
    {Kind::kRetestPassed, "retest_passed"},
    {Kind::kOperatorClear, "operator_clear"},
    {Kind::kLinkUp, "link_up"},
    {Kind::kDeviceReset, "device_reset"},
    {Kind::kRecovered, "recovered"},
    {Kind::kDeviceHang, "device_hang"},
    {Kind::kResetFailed, "reset_failed"},
    {Kind::kIoError, "io_error"},
    {Kind::kOutOfMemory, "out_of_memory"},
    {Kind::kLogGap, "log_gap"},
}};

}  // namespace

std::string to_text(HealthSubjectKind kind) {
  switch (kind) {
    case HealthSubjectKind::kNode: return "node";
    case HealthSubjectKind::kDevice: return "device";
    case HealthSubjectKind::kLink: return "link";
    case HealthSubjectKind::kNic: return "nic";
  }
  return "unknown";
}

std::string to_text(const HealthSubject& subject) {
  if (subject.kind == HealthSubjectKind::kNode) return "node " + subject.node;
  return to_text(subject.kind) + " " + subject.name + " of " + subject.node;
}

std::string to_text(ObservationKind kind) {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "unknown";
}

std::optional<ObservationKind> parse_observation_kind(std::string_view name) {
  for (const auto& [kind, known] : kKinds) {
    if (name == known) return kind;
  }
  return std::nullopt;
}

std::string to_text(ObservationSource source) {
  switch (source) {
    case ObservationSource::kProbe: return "probe";
    case ObservationSource::kVendorLibrary: return "vendor_library";
    case ObservationSource::kKernelLog: return "kernel_log";
    case ObservationSource::kOperator: return "operator";
  }
  return "unknown";
}

}  // namespace keiko
