// What a worker that no kill reaches says of its devices, and what its end says. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/health/checks/reading_findings.h"
#include "model/health.h"

namespace keiko::health {

/// A process that waits in the kernel, and the devices that it may still use.
struct HangingProcess {
  int64_t pid = 0;
  std::vector<std::string> uuids;
  std::string text;  ///< a sentence: whose it is, and since when
};

/// RETURNS: an observation for each device.
std::vector<Observation> observations_of(const HangingProcess& process, const ReadingPlace& place);

/// RETURNS: that the process is gone which hung on the device.
Observation hang_is_over(const HealthSubject& device, const ReadingPlace& place);

}  // namespace keiko::health
