// KernelXids: hears the XIDs that the kernel's log tells of, for DeviceReadings to count. The log
// is followed by a reader of its own, so that the judge of health misses nothing. For one thread.
#pragma once

#include <memory>
#include <utility>

#include "agent/metrics/device_readings.h"
#include "ports/kernel_log.h"

namespace keiko::agent {

class KernelXids : public telemetry::ReadingSource {
 public:
  /// What the log has at the first read was before the agent, and is passed over.
  KernelXids(std::unique_ptr<KernelLog> log, std::shared_ptr<DeviceReadings> devices)
      : log_(std::move(log)), devices_(std::move(devices)) {}

  /// RETURNS: no readings. Without the right to read the log the library's events are all there is;
  /// that is no error.
  Result<std::vector<Reading>> read() override;

 private:
  std::unique_ptr<KernelLog> log_;
  std::shared_ptr<DeviceReadings> devices_;
  bool past_ = true;  ///< what is read now was there before
};

}  // namespace keiko::agent
