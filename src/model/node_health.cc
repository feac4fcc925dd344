#include "model/node_health.h"

#include <algorithm>

namespace keiko {

bool is_anything_ill(const HealthReport& report, const HealthSubject& subject) {
  return std::any_of(report.subjects.begin(), report.subjects.end(), [&](const auto& one) {
    const bool meant = subject.kind == HealthSubjectKind::kNode ||
                       (one.subject.kind == subject.kind && one.subject.name == subject.name);
    return meant && (one.quarantined || one.level != "healthy");
  });
}

}  // namespace keiko
