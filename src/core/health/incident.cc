#include "core/health/incident.h"

namespace keiko::health {

Sighting sighting_of(const Observation& seen) {
  Sighting fresh;
  fresh.kind = seen.kind;
  fresh.source = seen.source;
  fresh.code = seen.code;
  fresh.value = seen.value;
  fresh.gpu_instance = seen.gpu_instance;
  fresh.at = seen.at;
  fresh.boot_us = seen.boot_us;
  fresh.last_at = seen.at;
  fresh.detail = seen.detail;
  fresh.text = seen.text;
  return fresh;
}

}  // namespace keiko::health
