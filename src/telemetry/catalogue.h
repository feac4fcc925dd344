// The catalogue of metrics, as data: what each reading is called by its source, by Prometheus and
// by boards made for NVIDIA's DCGM exporter, with unit, kind and a sentence of help.
//
// A reading that is not in the catalogue is not shown. Names of ours are stable; the DCGM set is
// the exporter's before its 4.6 renaming, which is what published boards ask for.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/reading.h"

namespace keiko::telemetry {

/// A gauge goes up and down; a counter only up, until it starts again.
enum class MetricKind : int { kGauge = 0, kCounter = 1 };
std::string to_text(MetricKind kind);

/// The same number under DCGM's name and in its unit.
struct DcgmAlias {
  const char* name = nullptr;  ///< null: there is none
  double scale = 1;            ///< value of ours * scale: MiB, mJ, percent
  const char* help = nullptr;
};

struct MetricRow {
  SubjectKind subject;
  const char* reading;  ///< as the source calls it
  const char* name;     ///< "keiko_device_power_watts"; several rows may share one, by `labels`
  MetricKind kind;
  const char* unit;     ///< base unit of the exposed value; empty: a plain number
  const char* help;
  double scale = 1;            ///< exposed value = reading * scale
  const char* labels = "";     ///< constant ones: `mode="user"`
  const char* rate = nullptr;  ///< of a counter: the reading that gets its increase per second
  bool wraps_at_32_bits = false;  ///< some hardware behind it counts in 32 bits
  const char* flaps = nullptr;  ///< of a counter of falls: the reading that is 1 while it flaps
  DcgmAlias dcgm = {};
};

/// RETURNS: all rows; those of one name stand together, and their order is the order shown.
std::span<const MetricRow> catalogue();

/// RETURNS: the row of a reading, null if the catalogue does not know it.
const MetricRow* find_metric(SubjectKind subject, std::string_view reading);

}  // namespace keiko::telemetry
