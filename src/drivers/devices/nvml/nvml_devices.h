// Devices of NVIDIA: GPUs and MIG slices through the management library, loaded when it is needed.
//
// The library is opened by the first verb and again after it broke (driver update, reset), so that
// an agent may start before the driver does. Fingerprint looks at the machine afresh; the other
// verbs speak of what the last one found. Called from one thread.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "drivers/devices/nvml/nvml_faults.h"
#include "drivers/devices/nvml/nvml_processes.h"
#include "drivers/devices/nvml/nvml_stats.h"
#include "ports/devices.h"

namespace keiko {

struct NvmlDevicesOptions {
  /// What to load; a path, or a name that the dynamic linker looks for.
  std::string library = "libnvidia-ml.so.1";
  /// Functions of the library that are never called: for a driver in which one of them hangs.
  std::set<std::string> ignored_functions;
  /// Activity of SMs and memory is not read more often; two samples must differ to tell anything.
  Duration activity_interval = milliseconds(100);
  /// Where the kernel tells of GPUs; tests move it.
  NvmlPlaces places;
};

class NvmlDevices : public Devices {
 public:
  explicit NvmlDevices(NvmlDevicesOptions options);
  ~NvmlDevices() override;

  /// RETURNS: kNotFound without the library, kUnavailable or kFailedPrecondition if the driver does
  /// not run; the message says what to do. A GPU that does not answer is left out, see faults().
  Result<Inventory> fingerprint() override;

  /// CUDA_VISIBLE_DEVICES by UUID and CUDA_DEVICE_ORDER. A CUDA process sees one MIG slice at most.
  Result<std::map<std::string, std::string>> visibility(
      const std::vector<std::string>& uuids) override;

  /// Of a slice: its memory and activity, and the condition of its GPU; the engines, power and
  /// links of a GPU cannot be divided among slices. A lost device has no values.
  Result<std::vector<DeviceStats>> stats() override;

  /// Compute, graphics and MPS clients alike. Of a slice, those of its instance. How busy they are
  /// is told from the second call on, as what happened since the one before; of a slice never.
  Result<std::vector<DeviceProcess>> processes(const std::string& uuid) override;

  /// XIDs, uncorrectable memory errors and lost GPUs. A loss has the UUID of the whole GPU; it is
  /// empty if the GPU has not answered since the agent started.
  Result<std::vector<DeviceFault>> faults() override;

 private:
  /// An open library with what depends on it, in the order of their making.
  struct Session {
    std::unique_ptr<NvmlLibrary> library;
    NvmlMachine machine;
    std::optional<NvmlEvents> events;
    std::optional<NvmlStats> stats;
    std::optional<NvmlProcesses> processes;
  };

  Done open();
  void close();
  Done look();
  Done look_once();
  Done miss_the_lost();
  void note(std::vector<DeviceFault> faults);
  Result<const NvmlUnit*> find(const std::string& uuid);
  Inventory inventory() const;

  NvmlDevicesOptions options_;
  std::unique_ptr<Session> session_;
  NvmlPresence presence_;
  std::vector<DeviceFault> faults_;  ///< not told yet
};

}  // namespace keiko
