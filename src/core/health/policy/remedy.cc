#include "core/health/policy/remedy.h"

#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace keiko::health {
namespace {

using Level = HealthLevel;
using Owner = HealthOwner;

constexpr uint32_t kCured = kByReset | kByReboot | kByOperator;

constexpr std::array<RemedyRule, 13> kRules{{
    {Remedy::kIgnore, "ignore", "nothing", Level::kHealthy, false, Owner::kKeiko, kByOperator, {}},
    {Remedy::kRestartApp, "restart_app", "a restart of the program", Level::kHealthy, false,
     Owner::kKeiko, kByOperator, {}},
    {Remedy::kObserve, "observe", "nothing but time", Level::kDegraded, false, Owner::kKeiko,
     kByTimer | kByRecovery | kByReboot | kByOperator, minutes(10)},
    {Remedy::kRetest, "retest", "a re-test", Level::kDegraded, false, Owner::kKeiko,
     kByRetest | kByRecovery | kCured, {}},
    {Remedy::kContactSupport, "contact_support", "the vendor's word and a re-test",
     Level::kDegraded, false, Owner::kVendor, kByRetest | kByRecovery | kCured, {}},
    {Remedy::kAskOperator, "ask_operator", "somebody who looks at it", Level::kDegraded, false,
     Owner::kOperator, kByTimer | kByRecovery | kByRetest | kCured, hours(1)},
    {Remedy::kRest, "rest", "its recovery", Level::kUnhealthy, true, Owner::kKeiko,
     kByRecovery | kByRetest | kByReboot | kByOperator, {}},
    {Remedy::kProve, "prove", "a test that passes", Level::kUnhealthy, true, Owner::kKeiko,
     kByRetest | kByRecovery | kByOperator, {}},
    {Remedy::kDrainReset, "drain_reset", "a reset once it is idle", Level::kUnhealthy, true,
     Owner::kKeiko, kCured, {}},
    {Remedy::kReset, "reset_device", "a reset", Level::kUnhealthy, true, Owner::kKeiko,
     kCured, {}},
    {Remedy::kReboot, "reboot_node", "a reboot of its node", Level::kUnhealthy, true,
     Owner::kKeiko, kByReboot | kByOperator, {}},
    {Remedy::kInspect, "inspect", "somebody who looks at the hardware", Level::kUnhealthy, true,
     Owner::kOperator, kByOperator, {}},
    {Remedy::kReplace, "replace", "the vendor", Level::kUnhealthy, true, Owner::kVendor,
     kByOperator, {}},
}};

constexpr bool rows_are_right() {
  for (size_t i = 0; i < kRules.size(); ++i) {
    const RemedyRule& rule = kRules[i];
    const bool timed = (rule.exits & kByTimer) != 0;
    if (static_cast<size_t>(rule.remedy) != i || (rule.exits & kByOperator) == 0) return false;
    if (timed != (rule.hold.ns > 0)) return false;
    // So that the gravest of several conditions says whether the subject may work.
    if (rule.quarantine != (rule.remedy >= Remedy::kRest)) return false;
    if (rule.quarantine != (rule.level == Level::kUnhealthy)) return false;
  }
  return true;
}
static_assert(rows_are_right(), "found by number; an operator ends all; a timer has a hold time");

struct ExitName {
  Exit exit;
  const char* name;
};
constexpr std::array<ExitName, 6> kExits{{{kByTimer, "timer"},
                                          {kByRecovery, "recovery"},
                                          {kByRetest, "re-test"},
                                          {kByReset, "reset"},
                                          {kByReboot, "reboot"},
                                          {kByOperator, "operator"}}};

}  // namespace

const RemedyRule& rule_of(Remedy remedy) {
  const auto index = static_cast<size_t>(remedy);
  CHECK(index < kRules.size());
  return kRules[index];
}

std::string to_text(Remedy remedy) {
  const auto index = static_cast<size_t>(remedy);
  return index < kRules.size() ? kRules[index].name : "unknown";
}

std::string to_text(HealthLevel level) {
  switch (level) {
    case HealthLevel::kHealthy: return "healthy";
    case HealthLevel::kDegraded: return "degraded";
    case HealthLevel::kUnhealthy: return "unhealthy";
  }
  return "unknown";
}

std::string to_text(HealthOwner owner) {
  switch (owner) {
    case HealthOwner::kKeiko: return "keiko";
    case HealthOwner::kOperator: return "operator";
    case HealthOwner::kVendor: return "vendor";
  }
  return "unknown";
}

std::string exits_text(uint32_t exits) {
  std::vector<std::string> names;
  for (const ExitName& known : kExits) {
    if ((exits & known.exit) != 0) names.emplace_back(known.name);
  }
  if (names.size() < 2) return join(names, "");
  const std::string last = names.back();
  names.pop_back();
  return join(names, ", ") + " or " + last;
}

}  // namespace keiko::health
