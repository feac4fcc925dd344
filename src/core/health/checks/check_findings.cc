#include "core/health/checks/check_findings.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace keiko::health {
namespace {

Observation about(const CheckedSubject& checked, const CheckOutcome& outcome) {
  Observation seen;
  seen.subject = {checked.subject.node,
                  outcome.uuid.empty() ? HealthSubjectKind::kNode : HealthSubjectKind::kDevice,
                  outcome.uuid};
  seen.kind = ObservationKind::kCheckResult;
  seen.at = checked.at;
  seen.boot = checked.boot;
  seen.code = static_cast<int64_t>(outcome.verdict);
  seen.detail = outcome.check;
  seen.text = to_text(checked.kind) + " check " + outcome.check + ": " + outcome.text;
  return seen;
}

bool has(const std::vector<CheckOutcome>& outcomes, CheckVerdict verdict) {
  return std::any_of(outcomes.begin(), outcomes.end(),
                     [&](const CheckOutcome& one) { return one.verdict == verdict; });
}

}  // namespace

const CheckOutcome* forbids_work(const std::vector<CheckOutcome>& outcomes) {
  const auto bad = std::find_if(outcomes.begin(), outcomes.end(), [](const CheckOutcome& one) {
    return one.verdict == CheckVerdict::kCrit;
  });
  return bad == outcomes.end() ? nullptr : &*bad;
}

bool has_proved_itself(const std::vector<CheckOutcome>& outcomes) {
  return has(outcomes, CheckVerdict::kOk) && !has(outcomes, CheckVerdict::kCrit) &&
         !has(outcomes, CheckVerdict::kUnknown);
}

std::string not_covered(const std::vector<CheckOutcome>& outcomes) {
  std::vector<std::string> left;
  for (const CheckOutcome& one : outcomes) {
    if (one.verdict != CheckVerdict::kNotCovered) continue;
    std::string words = one.check + " (" + one.text + ")";
    if (std::find(left.begin(), left.end(), words) == left.end()) left.push_back(std::move(words));
  }
  return left.empty() ? "" : "not covered: " + join(left, ", ");
}

namespace {

/// What the whole of it ends or begins, beside what each outcome says; nothing if it does not.
std::optional<ObservationKind> result_of(CheckKind kind,
                                         const std::vector<CheckOutcome>& outcomes) {
  const bool proved = has_proved_itself(outcomes);
  if (kind == CheckKind::kRetest && proved) return ObservationKind::kRetestPassed;
  if (kind != CheckKind::kReset) return std::nullopt;
  for (const CheckOutcome& one : outcomes) {
    if (one.check != kResetCheck) continue;
    if (one.verdict == CheckVerdict::kCrit) return ObservationKind::kResetFailed;
    if (one.verdict == CheckVerdict::kOk && proved) return ObservationKind::kDeviceReset;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Observation> observations_of(const CheckedSubject& checked,
                                         const std::vector<CheckOutcome>& outcomes) {
  std::vector<Observation> seen;
  for (const CheckOutcome& outcome : outcomes) {
    const bool told = outcome.verdict != CheckVerdict::kNotCovered && outcome.check != kResetCheck;
    if (told) seen.push_back(about(checked, outcome));
  }
  const std::optional<ObservationKind> result = result_of(checked.kind, outcomes);
  if (!result) return seen;
  Observation passed;
  passed.subject = checked.subject;
  passed.kind = *result;
  // Before the outcomes, so that it does not end what one of them warns of.
  passed.at = checked.at - nanoseconds(1);
  passed.boot = checked.boot;
  passed.detail = not_covered(outcomes);
  for (const CheckOutcome& one : outcomes) {
    if (one.check == kResetCheck) passed.text = "reset: " + one.text;
  }
  seen.push_back(std::move(passed));
  return seen;
}

}  // namespace keiko::health
