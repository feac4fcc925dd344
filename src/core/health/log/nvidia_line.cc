// Lines of the NVIDIA driver:
//
//   NVRM: Xid (PCI:0000:c1:00): 94, pid=1234, name=python, Contained: ...
//   NVRM: Xid (PCI:0000:01:00 GPU-I:05): 13, pid='<unknown>', name=<unknown>, ...
//   NVRM: Xid (0000:03:00): 14, Channel 00000001                    (drivers of old)
//   NVRM: GPU at PCI:0000:c1:00: GPU-44ec53bd-...                   (names who is meant next)
//   NVRM: GPU 0000:29:00.0: GPU has fallen off the bus.
//
// SXid lines are of the NVLink switches' driver and mean another thing; they are left out.
#include "core/health/log/kernel_line.h"
#include "core/health/log/text_scan.h"

namespace keiko::health {
namespace {

constexpr int64_t kRecoveryXid = 154;
constexpr int64_t kFirstNvlink5Xid = 144;
constexpr int64_t kLastNvlink5Xid = 150;

bool is_word_end(std::string_view text, size_t at) {
  if (at == 0) return true;
  const char before = text[at - 1];
  const bool letter = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z');
  return !letter;
}

/// "GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)": 4. -1 if it was cut off.
int64_t recovery_action(std::string_view tail) {
  const size_t to = find_behind(tail, " to ");
  int64_t action = -1;
  if (to == std::string_view::npos) return -1;
  TextScan scan(tail.substr(to));
  return scan.take_code(action) && !scan.rest().empty() ? action : -1;
}

int64_t value_of(int64_t xid, std::string_view tail) {
  if (xid == kRecoveryXid) return recovery_action(tail);
  const bool nvlink5 = xid >= kFirstNvlink5Xid && xid <= kLastNvlink5Xid;
  return nvlink5 && contains(tail, " Fatal") ? 1 : 0;
}

/// Reads what follows "Xid (". RETURNS: how many bytes are certain to belong to it.
size_t read_xid(const LineReading& line, size_t start) {
  const size_t next = line.text.find("NVRM:", start);
  const std::string_view own = line.text.substr(start, next - start);
  TextScan scan(own);
  scan.take("PCI:");
  std::string address;
  if (!scan.take_pci(address)) return 0;
  scan.skip_blanks();
  int64_t instance = -1;
  if (scan.take("GPU-I:") && !scan.take_number(instance)) instance = -1;
  int64_t xid = 0;
  const bool whole = scan.take("): ") && scan.take_number(xid) && scan.take(",");
  const auto kind = whole ? ObservationKind::kXid : ObservationKind::kLogGap;
  Observation& found = line.add(kind, HealthSubjectKind::kDevice, address);
  found.gpu_instance = static_cast<int32_t>(instance);
  found.code = whole ? xid : 0;
  found.value = whole ? value_of(xid, scan.rest()) : 1;
  return own.size();
}

void read_fallen(const LineReading& line) {
  const size_t gpu = find_behind(line.text, "GPU ");
  if (gpu == std::string_view::npos) return;
  TextScan scan(line.text.substr(gpu));
  if (scan.take("at ")) scan.take("PCI:");
  std::string address;
  if (scan.take_pci(address)) {
    line.add(ObservationKind::kDeviceLost, HealthSubjectKind::kDevice, address);
  }
}

}  // namespace

void read_nvidia_line(const LineReading& line) {
  constexpr std::string_view kXid = "Xid (";
  size_t at = line.text.find(kXid);
  while (at != std::string_view::npos) {
    const size_t used = is_word_end(line.text, at) ? read_xid(line, at + kXid.size()) : 0;
    at = line.text.find(kXid, at + kXid.size() + used);
  }
  const bool fallen = contains(line.text, "fallen off the bus") && contains(line.text, "NVRM");
  if (line.found.empty() && fallen) read_fallen(line);
}

}  // namespace keiko::health
