#include "core/health/policy/observation_rule.h"

namespace keiko::health {
namespace {

using Kind = ObservationKind;

constexpr std::array<ObservationRule, 28> kRules{{
    {Kind::kXid, Role::kFault, Remedy::kIgnore, 0, "XID"},
    {Kind::kEccUncorrectable, Role::kFault, Remedy::kReset, 0, "uncorrectable memory errors"},
    // Beyond a number of errors of its life; below it is only recorded.
    {Kind::kEccSramAggregate, Role::kFault, Remedy::kReplace, 0, "uncorrectable SRAM errors"},
    {Kind::kRowRemapPending, Role::kFault, Remedy::kDrainReset, 0, "a row waits to be remapped"},
    {Kind::kRowRemapFailure, Role::kFault, Remedy::kReplace, 0, "a row could not be remapped"},
    {Kind::kThermalSlowdown, Role::kCondition, Remedy::kObserve, 0, "slowed down by heat"},
    {Kind::kPowerBrake, Role::kCondition, Remedy::kObserve, 0, "slowed down by its power supply"},
    // The timer runs once the carrier is back.
    {Kind::kLinkDown, Role::kCondition, Remedy::kRest, kByTimer, "no carrier"},
    {Kind::kLinkSlow, Role::kCondition, Remedy::kRetest, 0, "slower than its kind"},
    {Kind::kDeviceLost, Role::kFault, Remedy::kReboot, kByRecovery, "it is gone"},
    {Kind::kDeviceBack, Role::kEnding, Remedy::kIgnore, 0, "it is back"},
    {Kind::kPreflightFailed, Role::kCondition, Remedy::kProve, kByReset, "a test failed"},
    // CRIT; WARN is observed.
    {Kind::kCheckResult, Role::kCondition, Remedy::kProve, kByReboot, "a check failed"},
    {Kind::kDiskLow, Role::kCondition, Remedy::kRest, 0, "the disk is nearly full", kByRetest},
    {Kind::kClockSkew, Role::kCondition, Remedy::kObserve, 0, "its clock is wrong"},
    {Kind::kDstateProcess, Role::kCondition, Remedy::kRest, 0, "a process of it cannot be killed"},
    {Kind::kMemoryNotReleased, Role::kCondition, Remedy::kReset, kByRecovery,
     "its memory is still held"},
    {Kind::kReboot, Role::kEnding, Remedy::kIgnore, 0, "the node was rebooted"},
    {Kind::kRetestPassed, Role::kEnding, Remedy::kIgnore, 0, "a test passed"},
    {Kind::kOperatorClear, Role::kEnding, Remedy::kIgnore, 0, "an operator cleared it"},
    {Kind::kLinkUp, Role::kEnding, Remedy::kIgnore, 0, "the carrier is back"},
    {Kind::kDeviceReset, Role::kEnding, Remedy::kIgnore, 0, "it was reset"},
    {Kind::kRecovered, Role::kEnding, Remedy::kIgnore, 0, "it recovered"},
    {Kind::kDeviceHang, Role::kFault, Remedy::kObserve, kByReset, "it hung"},
    {Kind::kResetFailed, Role::kFault, Remedy::kReboot, 0, "it could not be reset"},
    {Kind::kIoError, Role::kCondition, Remedy::kAskOperator, 0, "a disk failed to read or write"},
    {Kind::kOutOfMemory, Role::kRecord, Remedy::kIgnore, 0, "the kernel ran out of memory"},
    {Kind::kLogGap, Role::kRecord, Remedy::kIgnore, 0, "lines of the kernel's log were lost"},
}};

constexpr bool in_order() {
  for (size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<size_t>(kRules[i].kind) != i + 1) return false;
  }
  return true;
}
static_assert(in_order(), "a row is found by its number");

}  // namespace

const ObservationRule* find_rule(ObservationKind kind) {
  const auto number = static_cast<size_t>(kind);
  return number >= 1 && number <= kRules.size() ? &kRules[number - 1] : nullptr;
}

std::string cause_of(ObservationKind kind, int64_t code, const std::string& detail) {
  if (kind == Kind::kXid) return "xid_" + std::to_string(code);
  if (kind == Kind::kCheckResult) return "check_" + detail;
  const bool by_place = kind == Kind::kDiskLow || kind == Kind::kIoError;
  return by_place && !detail.empty() ? to_text(kind) + "_" + detail : to_text(kind);
}

}  // namespace keiko::health
