// NvmlStats: readings of GPUs and their slices. What is not supported, a sentinel or out of any
// physical range is left out. Keeps one activity sample for each unit, since activity is what
// happened between two samples.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/time.h"
#include "drivers/devices/nvml/nvml_machine.h"
#include "ports/devices.h"

namespace keiko {

class NvmlStats {
 public:
  /// Activity is not read more often than `interval`. REQUIRES: `library` outlives this.
  NvmlStats(const NvmlLibrary& library, Duration interval)
      : library_(library), interval_(interval) {}
  ~NvmlStats();
  NvmlStats(const NvmlStats&) = delete;
  NvmlStats& operator=(const NvmlStats&) = delete;

  /// Reads one unit. RETURNS: kNvmlGpuIsLost if the GPU no longer answers, then nothing is read.
  NvmlReturn read(const NvmlMachine& machine, const NvmlUnit& unit, DeviceStats& stats);

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  struct Activity {
    bool supported = false;
    NvmlGpmSample last = nullptr;
    SteadyTime taken;
    std::map<std::string, double> values;  ///< of the last interval
  };

  void read_activity(const NvmlMachine& machine, const NvmlUnit& unit, DeviceStats& stats);
  Activity& activity_of(const NvmlGpu& gpu, const std::string& uuid);
  NvmlGpmSample take_sample(const NvmlGpu& gpu, const NvmlUnit& unit);
  std::map<std::string, double> compare(NvmlGpmSample before, NvmlGpmSample after);

  const NvmlLibrary& library_;
  Duration interval_;
  std::map<std::string, Activity> activities_;  ///< by UUID
};

}  // namespace keiko
