// How bare text becomes observations; the families of lines are in the files beside.
#include "core/health/log/kernel_line.h"

#include <utility>

namespace keiko::health {
namespace {

constexpr size_t kMostFindings = 8;
/// Evidence is kept and sent about: the beginning of a line says what it is.
constexpr size_t kMostEvidence = 512;

}  // namespace

Observation& LineReading::add(ObservationKind kind, HealthSubjectKind about,
                              std::string subject) const {
  Observation& finding = found.emplace_back(frame);
  finding.kind = kind;
  finding.subject.kind = about;
  finding.subject.name = std::move(subject);
  finding.text = std::string(text.substr(0, kMostEvidence));
  return finding;
}

std::vector<Observation> read_kernel_line(std::string_view text, const Observation& frame) {
  std::vector<Observation> found;
  const LineReading line{text, frame, found};
  read_nvidia_line(line);
  if (found.empty()) read_amdgpu_line(line);
  if (found.empty()) read_machine_line(line);
  if (found.size() > kMostFindings) found.resize(kMostFindings);
  return found;
}

std::vector<Observation> read_kernel_record(const KernelRecord& record, const LogPlace& place) {
  if (record.facility != 0) return {};
  Observation frame;
  frame.subject.node = place.node;
  frame.source = ObservationSource::kKernelLog;
  frame.boot = place.boot;
  frame.boot_us = record.boot_us;
  frame.at = place.booted_at + microseconds(record.boot_us);
  return read_kernel_line(record.text, frame);
}

Observation log_gap(const LogPlace& place, uint64_t records, Time at) {
  Observation gap;
  gap.subject.node = place.node;
  gap.kind = ObservationKind::kLogGap;
  gap.source = ObservationSource::kKernelLog;
  gap.boot = place.boot;
  gap.at = at;
  gap.value = static_cast<int64_t>(records);
  gap.text =
      std::to_string(records) + " records of the kernel's log were lost before they were read";
  return gap;
}

}  // namespace keiko::health
