// Lines that any Linux machine writes: carriers of NICs, failed I/O, the OOM killer, messages that
// a rate limit swallowed:
//
//   mlx5_core 0000:5e:00.0 eth2: Link down          ixgbe 0000:03:00.0 eth0: NIC Link is Up 10 Gbps
//   I/O error, dev nvme0n1, sector 1234 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2
//   Out of memory: Killed process 4711 (python) total-vm:...
//   Memory cgroup out of memory: Killed process 4711 (python) ...
//   nvidia_isr: 23 callbacks suppressed
#include "core/health/log/kernel_line.h"
#include "core/health/log/text_scan.h"

namespace keiko::health {
namespace {

/// "Link is Down", "Link down", "NIC Link is Up", "link becomes ready".
bool read_carrier(std::string_view said, bool& up) {
  TextScan scan(said);
  scan.take("NIC ");
  if (!scan.take("Link ") && !scan.take("link ")) return false;
  scan.take("is ");
  up = scan.take("Up") || scan.take("up");
  return up || scan.take("Down") || scan.take("down");
}

/// RETURNS: the length of what stands before ": Link is Up", npos if the line says no such thing.
size_t find_carrier(std::string_view text, bool& up) {
  size_t colon = text.find(": ");
  while (colon != std::string_view::npos && !read_carrier(text.substr(colon + 2), up)) {
    colon = text.find(": ", colon + 2);
  }
  return colon;
}

/// igb and its kin name the NIC once more, behind themselves: "eth0: igb: eth0 NIC Link is Up".
size_t find_repeated(std::string_view text, bool& up) {
  const size_t at = text.find(" NIC Link is ");
  return at != std::string_view::npos && read_carrier(text.substr(at + 1), up)
             ? at
             : std::string_view::npos;
}

void read_nic(const LineReading& line) {
  bool up = false;
  size_t end = find_carrier(line.text, up);
  if (end == std::string_view::npos) end = find_repeated(line.text, up);
  if (end == std::string_view::npos) return;
  const std::string_view name = last_name(line.text.substr(0, end));
  // "pciehp: Slot(3): Link Down" is of no NIC: an interface's name has 15 characters at most and
  // stands alone.
  const bool alone = name.size() < end && !contains(line.text, "Slot(");
  if (name.empty() || name.size() > 15 || !alone) return;
  line.add(up ? ObservationKind::kLinkUp : ObservationKind::kLinkDown, HealthSubjectKind::kNic,
           std::string(name));
}

void read_disk(const LineReading& line) {
  const size_t start = find_behind(line.text, "I/O error, dev ");
  if (start == std::string_view::npos) return;
  const std::string_view tail = line.text.substr(start);
  const size_t end = tail.find(',');
  if (end == std::string_view::npos || end == 0 || end > 32) return;
  line.add(ObservationKind::kIoError, HealthSubjectKind::kNode, {}).detail =
      std::string(tail.substr(0, end));
}

void read_killed(const LineReading& line) {
  if (!contains(line.text, "ut of memory: ")) return;
  const size_t start = find_behind(line.text, "Killed process ");
  if (start == std::string_view::npos) return;
  TextScan scan(line.text.substr(start));
  int64_t pid = 0;
  if (!scan.take_number(pid) || !scan.take(" (")) return;
  Observation& found = line.add(ObservationKind::kOutOfMemory, HealthSubjectKind::kNode, {});
  found.value = pid;
  found.detail = std::string(scan.rest().substr(0, scan.rest().find(')')).substr(0, 64));
}

void read_suppressed(const LineReading& line) {
  const size_t at = line.text.find(" callbacks suppressed");
  if (at == std::string_view::npos) return;
  const std::string_view head = line.text.substr(0, at);
  TextScan scan(last_name(head));
  int64_t count = 0;
  if (!scan.take_number(count) || !scan.rest().empty()) return;
  Observation& found = line.add(ObservationKind::kLogGap, HealthSubjectKind::kNode, {});
  found.value = count;
  found.detail = std::string(head.substr(0, head.find(':')).substr(0, 64));
}

}  // namespace

void read_machine_line(const LineReading& line) {
  read_killed(line);
  if (line.found.empty()) read_disk(line);
  if (line.found.empty()) read_suppressed(line);
  if (line.found.empty()) read_nic(line);
}

}  // namespace keiko::health
