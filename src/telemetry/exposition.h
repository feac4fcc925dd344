// The text that Prometheus scrapes (exposition format 0.0.4), from readings: Keiko's own names, and
// for NVIDIA's devices the names, units and labels of the DCGM exporter beside them. What a device
// does not tell is absent. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/device.h"
#include "model/reading.h"
#include "telemetry/xid_ledger.h"

namespace keiko::telemetry {

struct ExpositionTerms {
  std::string node;              ///< the node's name
  std::vector<Device> devices;   ///< what is known of those that readings speak of
  /// By UUID of a device or of the GPU that slices are part of; by PCI address where that is all.
  std::map<std::string, XidRecord> xids;
  std::map<std::string, int64_t> gpu_instances = {};  ///< of MIG slices, by UUID
};

/// RETURNS: every reading that the catalogue knows. REQUIRES: each subject once.
std::string exposition(const std::vector<Reading>& readings, const ExpositionTerms& terms);

/// RETURNS: `value` as it stands between the quotes of a label.
std::string label_text(std::string_view value);

/// RETURNS: the shortest text that reads back as the same number.
std::string number_text(double value);

}  // namespace keiko::telemetry
