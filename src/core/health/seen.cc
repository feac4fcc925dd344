#include "core/health/seen.h"

#include <algorithm>

namespace keiko::health {
namespace {

using Source = ObservationSource;

SeenKey key_of(const Observation& seen, Source source) {
  return {seen.boot_us, seen.kind, seen.code, seen.subject, source};
}

/// RETURNS: the source that tells of the same XIDs, or the same one if there is none.
Source other_source(const Observation& seen) {
  if (seen.kind != ObservationKind::kXid) return seen.source;
  if (seen.source == Source::kKernelLog) return Source::kVendorLibrary;
  return seen.source == Source::kVendorLibrary ? Source::kKernelLog : seen.source;
}

/// Pairs the observation with one of the other source that has no partner yet, so that two faults
/// in a row that both sources saw stay two.
bool find_twin(SeenLines& seen, const Observation& fresh, Source other, Duration window) {
  const int64_t window_us = window.ns / 1000;
  const SeenKey from{fresh.boot_us - window_us, ObservationKind{}, 0, {}, Source{}};
  for (auto line = seen.lines.lower_bound(from); line != seen.lines.end(); ++line) {
    const SeenKey& key = line->first;
    if (key.boot_us > fresh.boot_us + window_us) return false;
    const bool same = key.kind == fresh.kind && key.code == fresh.code &&
                      key.subject == fresh.subject && key.source == other;
    if (!same || line->second) continue;
    line->second = true;
    return true;
  }
  return false;
}

void forget_oldest(SeenLines& seen) {
  while (seen.lines.size() > kMaxSeenLines) {
    seen.forgotten_us = std::max(seen.forgotten_us, seen.lines.begin()->first.boot_us);
    seen.lines.erase(seen.lines.begin());
  }
}

}  // namespace

bool first_time(SeenLines& seen, const Observation& fresh, Duration twin_window) {
  if (fresh.boot_us <= 0) return true;
  if (fresh.boot_us <= seen.forgotten_us) return false;
  const Source other = other_source(fresh);
  if (seen.lines.contains(key_of(fresh, fresh.source))) return false;
  if (seen.lines.contains(key_of(fresh, other))) return false;
  const bool twin = other != fresh.source && find_twin(seen, fresh, other, twin_window);
  seen.lines.emplace(key_of(fresh, fresh.source), twin);
  forget_oldest(seen);
  return !twin;
}

}  // namespace keiko::health
