#include "core/health/checks/reading_findings.h"

#include <array>
#include <cstdint>

namespace keiko::health {
namespace {

using Kind = ObservationKind;

enum class Told { kWhileSet, kAtStart, kGrowth };

struct ReadingRule {
  const char* reading;
  Told told;
  Kind kind;
  uint64_t bits;      ///< of kWhileSet: any of these
  const char* words;
};

/// Bits of NVML's clocks event reasons (nvml.h): hardware's own thermal slowdown and power brake.
/// Its software slowdowns are how a busy device keeps within its limits, and no trouble.
constexpr uint64_t kHardwareThermal = 0x40;
constexpr uint64_t kPowerBrake = 0x80;

constexpr std::array<ReadingRule, 6> kRules{{
    {"throttle_reasons", Told::kWhileSet, Kind::kThermalSlowdown, kHardwareThermal,
     "the hardware slows itself down by heat"},
    {"throttle_reasons", Told::kWhileSet, Kind::kPowerBrake, kPowerBrake,
     "its power supply slows it down"},
    {"row_remap_pending", Told::kAtStart, Kind::kRowRemapPending, 0,
     "a row of its memory waits for a reset to be remapped"},
    {"row_remap_failed", Told::kAtStart, Kind::kRowRemapFailure, 0,
     "a row of its memory could not be remapped"},
    {"ecc_uncorrected_volatile", Told::kGrowth, Kind::kEccUncorrectable, 0,
     "uncorrectable memory errors were counted"},
    {"sram_uncorrected_aggregate", Told::kGrowth, Kind::kEccSramAggregate, 0,
     "uncorrectable errors of its SRAM were counted over its life"},
}};

constexpr int64_t kUnknown = -1;

/// RETURNS: kUnknown for what is not there, and for what is no count.
int64_t number(const Values& values, const char* name) {
  const auto found = values.find(name);
  const bool sane = found != values.end() && found->second >= 0 && found->second < 9e15;
  return sane ? static_cast<int64_t>(found->second) : kUnknown;
}

/// RETURNS: the number to tell, kUnknown if there is nothing to tell.
int64_t news(const ReadingRule& rule, int64_t value, int64_t old, const HealthOptions& options) {
  if (value == kUnknown) return kUnknown;
  switch (rule.told) {
    case Told::kWhileSet: return (static_cast<uint64_t>(value) & rule.bits) != 0 ? 0 : kUnknown;
    case Told::kAtStart: return value != 0 && old <= 0 ? value : kUnknown;
    case Told::kGrowth: break;
  }
  const bool of_life = rule.kind == Kind::kEccSramAggregate;
  if (old == kUnknown) return of_life && value > options.sram_errors_most ? value : kUnknown;
  if (value <= old) return kUnknown;
  return of_life ? value : value - old;
}

}  // namespace

std::vector<Observation> ReadingFindings::look(const std::vector<Reading>& readings,
                                               const ReadingPlace& place) {
  std::vector<Observation> seen;
  for (const Reading& reading : readings) {
    if (reading.subject.kind != SubjectKind::kDevice) continue;
    Values& before = before_[reading.subject.id];
    for (const ReadingRule& rule : kRules) {
      const int64_t value = news(rule, number(reading.values, rule.reading),
                                 number(before, rule.reading), options_);
      if (value == kUnknown) continue;
      Observation& one = seen.emplace_back();
      one.subject = {place.node, HealthSubjectKind::kDevice, reading.subject.id};
      one.kind = rule.kind;
      one.at = place.at;
      one.boot = place.boot;
      one.value = value;
      one.text = rule.words;
      if (value > 0) one.text += ": " + std::to_string(value);
    }
    // What a reading lacks now and then keeps its last number.
    for (const auto& [name, number_now] : reading.values) before[name] = number_now;
  }
  return seen;
}

}  // namespace keiko::health
