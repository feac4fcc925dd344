#include "core/state/event.h"

namespace keiko {

std::string to_text(StopIntent intent) {
  switch (intent) {
    case StopIntent::kNone: return "none";
    case StopIntent::kRestart: return "restart";
    case StopIntent::kCancel: return "cancel";
    case StopIntent::kRequeue: return "requeue";
    case StopIntent::kFail: return "fail";
  }
  return "unknown";
}

std::string to_text(AttemptOutcome outcome) {
  switch (outcome) {
    case AttemptOutcome::kCompleted: return "completed";
    case AttemptOutcome::kRetry: return "retry";
    case AttemptOutcome::kFailed: return "failed";
    case AttemptOutcome::kCancelled: return "cancelled";
    case AttemptOutcome::kRequeued: return "requeued";
  }
  return "unknown";
}

std::string to_text(const StateEvent& event) {
  return std::visit(
      [](const auto& body) {
        const std::string fields = fields_text(body);
        return std::string(body.kName) + (fields.empty() ? "" : " ") + fields;
      },
      event.body);
}

}  // namespace keiko
