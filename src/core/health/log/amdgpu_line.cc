// Lines of amdgpu, all of which begin "amdgpu 0000:03:00.0: amdgpu: ":
//
//   socket: 0 2 uncorrectable hardware errors detected in umc block
//   2 new uncorrectable hardware errors detected in gfx block
//   GPU reset begin!    GPU reset(2) succeeded!    GPU Recovery Failed: -19
//
// Polls write the first with a count of 0, or with "no" in front; that is no fault. Counts of a
// whole life ("in total") repeat old faults and are left out.
#include "core/health/log/kernel_line.h"
#include "core/health/log/text_scan.h"

namespace keiko::health {
namespace {

/// RETURNS: the number that stands before `end`, a word between them allowed ("2 new"); 0 if there
/// is none.
int64_t count_before(std::string_view text, size_t end) {
  std::string_view head = text.substr(0, end);
  for (int words = 0; words < 2; ++words) {
    while (!head.empty() && head.back() == ' ') head.remove_suffix(1);
    const std::string_view word = last_name(head);
    TextScan scan(word);
    int64_t count = 0;
    if (scan.take_number(count) && scan.rest().empty()) return count;
    if (word != "new") return 0;
    head.remove_suffix(word.size());
  }
  return 0;
}

void read_ras(const LineReading& line, const std::string& address, std::string_view said) {
  constexpr std::string_view kErrors = "uncorrectable hardware errors detected in ";
  const size_t at = said.find(kErrors);
  if (at == std::string_view::npos || contains(said, " in total")) return;
  const int64_t count = count_before(said, at);
  if (count <= 0) return;
  Observation& found =
      line.add(ObservationKind::kEccUncorrectable, HealthSubjectKind::kDevice, address);
  found.value = count;
  const std::string_view block = said.substr(at + kErrors.size());
  found.detail = std::string(block.substr(0, block.find(' ')).substr(0, 32));
}

void read_reset(const LineReading& line, const std::string& address, std::string_view said) {
  const bool reset = contains(said, "GPU reset");
  const auto add = [&](ObservationKind kind) {
    line.add(kind, HealthSubjectKind::kDevice, address);
  };
  if (reset && contains(said, "begin")) return add(ObservationKind::kDeviceHang);
  if (contains(said, "ASIC reset failed") || contains(said, "GPU Recovery Failed") ||
      contains(said, "GPU recovery failed") || (reset && contains(said, "failed"))) {
    return add(ObservationKind::kResetFailed);
  }
  if (reset && contains(said, "succeeded")) add(ObservationKind::kDeviceReset);
}

}  // namespace

void read_amdgpu_line(const LineReading& line) {
  const size_t start = find_behind(line.text, "amdgpu ");
  if (start == std::string_view::npos) return;
  TextScan scan(line.text.substr(start));
  std::string address;
  if (!scan.take_pci(address) || !scan.take(":")) return;
  read_ras(line, address, scan.rest());
  if (line.found.empty()) read_reset(line, address, scan.rest());
}

}  // namespace keiko::health
