// NvmlProcesses: who holds a GPU or a slice, how much of its memory, and how busy they keep it.
// Remembers for each unit up to when its use was read, since use is what happened since.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "drivers/devices/nvml/nvml_machine.h"
#include "ports/devices.h"

namespace keiko {

class NvmlProcesses {
 public:
  /// REQUIRES: `library` outlives this.
  explicit NvmlProcesses(const NvmlLibrary& library) : library_(library) {}

  /// RETURNS: by pid, each once; kUnimplemented if the driver does not tell.
  Result<std::vector<DeviceProcess>> read(const NvmlUnit& unit);

 private:
  using ByPid = std::map<int64_t, DeviceProcess>;
  void add_use(const NvmlUnit& unit, ByPid& found);

  const NvmlLibrary& library_;
  std::map<std::string, uint64_t> read_until_us_;  ///< by UUID, on the driver's clock
};

}  // namespace keiko
