// What a line of the kernel's log says about the health of devices, NICs and disks: XIDs of the
// NVIDIA driver in every form that it has written them, amdgpu's RAS counts and resets, carriers of
// NICs, I/O errors, the OOM killer.
//
// Pure functions over any bytes. A line that was cut off, or that runs into another one, gives what
// of it is certain: a number counts only with the comma that ends it, and an XID whose number was
// lost is told as a gap in the log, so that the device is tested instead of forgotten.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/health.h"
#include "model/kernel_record.h"

namespace keiko::health {

/// Where a record was read, for the Observation that is made of it.
struct LogPlace {
  std::string node;
  std::string boot;
  Time booted_at;  ///< boot_us 0 on the brain's clock
};

/// RETURNS: what one record says, in its order, mostly nothing; 8 observations at most. Devices are
/// named by their PCI address "0000:c1:00.0"; the brain knows whose it is. A record that a program
/// wrote (facility not 0) says nothing: only the kernel may accuse a device.
std::vector<Observation> read_kernel_record(const KernelRecord& record, const LogPlace& place);

/// RETURNS: the same for bare text; subject and time are left as in `frame`.
std::vector<Observation> read_kernel_line(std::string_view text, const Observation& frame);

/// RETURNS: the observation for records that nobody saw: overwritten, unreadable or suppressed.
Observation log_gap(const LogPlace& place, uint64_t records, Time at);

// ---- the families, each in its own file; each appends what it finds ----

/// Readers share a line and the frame from which each finding starts.
struct LineReading {
  std::string_view text;
  const Observation& frame;
  std::vector<Observation>& found;

  /// RETURNS: a new finding about `subject` at the end of the list.
  Observation& add(ObservationKind kind, HealthSubjectKind about, std::string subject) const;
};

void read_nvidia_line(const LineReading& line);   // nvidia_line.cc
void read_amdgpu_line(const LineReading& line);   // amdgpu_line.cc
void read_machine_line(const LineReading& line);  // machine_line.cc

}  // namespace keiko::health
