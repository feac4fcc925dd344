#include "core/health/checks/hang_findings.h"

namespace keiko::health {
namespace {

Observation about(const HealthSubject& device, const ReadingPlace& place) {
  Observation one;
  one.subject = device;
  one.source = ObservationSource::kProbe;
  one.at = place.at;
  one.boot = place.boot;
  return one;
}

}  // namespace

std::vector<Observation> observations_of(const HangingProcess& process, const ReadingPlace& place) {
  std::vector<Observation> seen;
  for (const std::string& uuid : process.uuids) {
    Observation one = about({place.node, HealthSubjectKind::kDevice, uuid}, place);
    one.kind = ObservationKind::kDstateProcess;
    one.value = process.pid;
    one.text = process.text;
    seen.push_back(std::move(one));
  }
  return seen;
}

Observation hang_is_over(const HealthSubject& device, const ReadingPlace& place) {
  Observation one = about(device, place);
  one.kind = ObservationKind::kRecovered;
  one.code = static_cast<int64_t>(ObservationKind::kDstateProcess);
  one.text = "the process that hung on it is gone";
  return one;
}

}  // namespace keiko::health
