// NvmlFaults: what went wrong with the GPUs of one open library: its error events and the GPUs that
// stopped to answer. Collected as they show, handed out once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "drivers/devices/nvml/nvml_machine.h"
#include "ports/devices.h"

namespace keiko {

/// The event set of one library. Events begin when a GPU is watched.
class NvmlEvents {
 public:
  /// REQUIRES: `library` outlives this.
  explicit NvmlEvents(const NvmlLibrary& library);
  ~NvmlEvents();
  NvmlEvents(const NvmlEvents&) = delete;
  NvmlEvents& operator=(const NvmlEvents&) = delete;

  /// Registers for the errors of each GPU that is not watched yet.
  void watch(const NvmlMachine& machine);

  /// RETURNS: the events since the last call, without waiting.
  std::vector<DeviceFault> drain(const NvmlMachine& machine);

 private:
  DeviceFault fault_of(const NvmlMachine& machine, const NvmlEvent& event) const;

  const NvmlLibrary& library_;
  NvmlEventSet set_ = nullptr;
  /// A copy, since a GPU may speak when it is already gone from the machine.
  std::map<NvmlDevice, NvmlGpu> watched_;
};

/// Which GPUs are gone. Outlives the library, so that a GPU is missed after a reopening too.
class NvmlPresence {
 public:
  /// Compares what is there with what was. RETURNS: a fault for each GPU that is newly missing.
  std::vector<DeviceFault> compare(const NvmlMachine& machine);

  /// A call to this GPU said that it is lost. RETURNS: a fault if that is news.
  std::vector<DeviceFault> lose(const NvmlGpu& gpu);

  bool is_lost(const std::string& gpu_uuid) const { return lost_.count(gpu_uuid) != 0; }
  bool any_lost() const { return !lost_.empty() || !silent_.empty(); }

 private:
  std::map<std::string, std::string> known_;  ///< GPU UUID to a name for people
  std::set<std::string> lost_;                ///< UUIDs
  std::set<std::string> silent_;              ///< sentences told already
};

}  // namespace keiko
