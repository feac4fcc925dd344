#include "drivers/devices/nvml/nvml_devices.h"

#include <algorithm>
#include <map>
#include <utility>

namespace keiko {
namespace {

using ProcessList = NvmlReturn (*NvmlSymbols::*)(NvmlDevice, uint32_t*, NvmlProcess*);

/// A process table may grow between asking its size and reading it.
constexpr int kTries = 4;
constexpr uint32_t kMostProcesses = 1 << 16;
constexpr uint64_t kMostMemory = uint64_t{1} << 46;

/// RETURNS: the processes that one list has; nothing if the list cannot be told.
std::optional<std::vector<NvmlProcess>> read_list(const NvmlLibrary& library, ProcessList list,
                                                  NvmlDevice handle) {
  std::vector<NvmlProcess> processes(64);
  for (int i = 0; i < kTries; ++i) {
    auto count = static_cast<uint32_t>(processes.size());
    const NvmlReturn answer = library.call(list, handle, &count, processes.data());
    if (answer == kNvmlSuccess && count <= processes.size()) {
      processes.resize(count);
      return processes;
    }
    if (answer != kNvmlInsufficientSize || count > kMostProcesses) return std::nullopt;
    processes.resize(std::max<size_t>(count, processes.size()) * 2);
  }
  return std::nullopt;
}

/// Adds one list. RETURNS: whether it could be read.
bool add_processes(const NvmlLibrary& library, ProcessList list, const NvmlUnit& unit,
                   std::map<int64_t, DeviceProcess>& found) {
  const auto processes = read_list(library, list, unit.handle);
  if (!processes) return false;
  for (const NvmlProcess& process : *processes) {
    const bool elsewhere = unit.is_slice() && process.gpu_instance != kNoInstance &&
                           process.gpu_instance != unit.gpu_instance;
    if (elsewhere || process.pid == 0 || process.pid > INT32_MAX) continue;
    DeviceProcess& entry = found[process.pid];
    entry.pid = process.pid;
    if (process.used_memory < kMostMemory) {
      entry.memory = std::max(entry.memory.value_or(Bytes{}),
                              Bytes{static_cast<int64_t>(process.used_memory)});
    }
  }
  return true;
}

/// Whether an error is the library's state rather than the machine's: then it is opened anew.
bool is_broken(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kFailedPrecondition;
}

}  // namespace

NvmlDevices::NvmlDevices(NvmlDevicesOptions options) : options_(std::move(options)) {}
NvmlDevices::~NvmlDevices() = default;

Done NvmlDevices::open() {
  if (session_) return done();
  auto session = std::make_unique<Session>();
  session->library = TRY(NvmlLibrary::open(options_.library, options_.ignored_functions));
  session->events.emplace(*session->library);
  session->stats.emplace(*session->library, options_.activity_interval);
  session_ = std::move(session);
  return done();
}

void NvmlDevices::close() {
  if (session_) note(session_->events->drain(session_->machine));
  session_.reset();
}

Done NvmlDevices::look() {
  // A started library never shows a GPU again that it lost.
  if (presence_.any_lost()) close();
  TRY(open());
  note(session_->events->drain(session_->machine));  // they speak of what was, not of what is
  Result<NvmlMachine> machine = find_machine(*session_->library, options_.places);
  if (!machine.ok()) {
    if (is_broken(machine.error())) close();
    return machine.error();
  }
  session_->machine = std::move(machine).value();
  session_->events->watch(session_->machine);
  note(presence_.compare(session_->machine));
  return done();
}

Done NvmlDevices::look_once() {
  if (session_) return done();
  return look();
}

void NvmlDevices::note(std::vector<DeviceFault> faults) {
  for (DeviceFault& fault : faults) faults_.push_back(std::move(fault));
}

Inventory NvmlDevices::inventory() const {
  Inventory inventory;
  for (const NvmlUnit& unit : session_->machine.units) inventory.devices.push_back(unit.device);
  return inventory;
}

Result<Inventory> NvmlDevices::fingerprint() {
  TRY(look());
  Inventory found = inventory();
  found.links = find_links(*session_->library, session_->machine, options_.places);
  return found;
}

Result<const NvmlUnit*> NvmlDevices::find(const std::string& uuid) {
  for (const bool afresh : {false, true}) {
    if (afresh) TRY(look());
    for (const NvmlUnit& unit : session_->machine.units) {
      if (unit.device.uuid != uuid) continue;
      if (!presence_.is_lost(session_->machine.gpus[unit.gpu].uuid)) return &unit;
    }
  }
  return not_found("device " + uuid + " is not on this machine; `keiko devices` lists them");
}

Result<std::map<std::string, std::string>> NvmlDevices::visibility(
    const std::vector<std::string>& uuids) {
  TRY(look_once());
  for (const std::string& uuid : uuids) TRY(find(uuid));
  const std::string list = TRY(uuids_in_index_order(inventory(), uuids));
  return std::map<std::string, std::string>{{"CUDA_VISIBLE_DEVICES", list},
                                            {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
}

Result<std::vector<DeviceStats>> NvmlDevices::stats() {
  TRY(look_once());
  std::vector<DeviceStats> readings;
  for (const NvmlUnit& unit : session_->machine.units) {
    DeviceStats stats{unit.device.uuid, {}};
    if (session_->stats->read(session_->machine, unit, stats) == kNvmlGpuIsLost) {
      note(presence_.lose(session_->machine.gpus[unit.gpu]));
    }
    readings.push_back(std::move(stats));
  }
  return readings;
}

Result<std::vector<DeviceProcess>> NvmlDevices::processes(const std::string& uuid) {
  using S = NvmlSymbols;
  TRY(look_once());
  const NvmlUnit& unit = *TRY(find(uuid));
  const NvmlLibrary& library = *session_->library;
  std::map<int64_t, DeviceProcess> found;
  const bool told = add_processes(library, &S::nvmlDeviceGetComputeRunningProcesses_v3, unit,
                                  found) ||
                    add_processes(library, &S::nvmlDeviceGetComputeRunningProcesses_v2, unit,
                                  found);
  if (!told) {
    return Error{Code::kUnimplemented,
                 "device " + uuid + ": its driver does not tell who uses it; update the driver",
                 {}};
  }
  add_processes(library, &S::nvmlDeviceGetGraphicsRunningProcesses_v3, unit, found);
  add_processes(library, &S::nvmlDeviceGetMPSComputeRunningProcesses_v3, unit, found);
  std::vector<DeviceProcess> processes;
  for (const auto& [pid, process] : found) processes.push_back(process);
  return processes;
}

/// Asks each GPU for something that only a living one answers.
Done NvmlDevices::miss_the_lost() {
  uint32_t count = 0;
  const NvmlReturn answer = session_->library->call(&NvmlSymbols::nvmlDeviceGetCount_v2, &count);
  if (answer != kNvmlSuccess) {
    close();
    return nvml_error("count the GPUs", answer);
  }
  const NvmlMachine& machine = session_->machine;
  if (count != machine.gpus.size() + machine.silent.size()) return look();
  for (const NvmlGpu& gpu : machine.gpus) {
    NvmlMemory memory{};
    if (session_->library->call(&NvmlSymbols::nvmlDeviceGetMemoryInfo, gpu.handle, &memory) ==
        kNvmlGpuIsLost) {
      note(presence_.lose(gpu));
    }
  }
  return done();
}

Result<std::vector<DeviceFault>> NvmlDevices::faults() {
  TRY(look_once());
  TRY(miss_the_lost());
  note(session_->events->drain(session_->machine));
  return std::exchange(faults_, {});
}

}  // namespace keiko
